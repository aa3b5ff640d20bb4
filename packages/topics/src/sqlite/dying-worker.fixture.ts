import { parentPort } from 'node:worker_threads';

/** A thread that dies at its second call, and answers neither of them. */
let calls = 0;
parentPort?.on('message', () => {
  if (++calls === 2) throw new Error('out of memory');
});
