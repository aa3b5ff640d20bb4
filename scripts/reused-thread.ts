import { type MessagePort, parentPort } from 'node:worker_threads';
import { serve } from '../packages/topics/src/sqlite/serve.ts';

type Log = { readonly port: MessagePort; readonly options: Parameters<typeof serve>[1] };

parentPort?.on('message', ({ port, options }: Log) => serve(port, options));
