import { parentPort, workerData } from 'node:worker_threads';
import { serve } from './serve.ts';

if (parentPort !== null) serve(parentPort, workerData);
