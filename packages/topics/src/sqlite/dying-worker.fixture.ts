import { parentPort } from 'node:worker_threads';

/** A thread that dies at its second call and answers none. */
let calls = 0;
parentPort?.on('message', () => {
  if (++calls === 2) throw new Error('out of memory');
});
