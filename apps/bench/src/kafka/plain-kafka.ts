import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import type { Codec } from './job.ts';

/** The part of kafkajs that is used here; only the Kafka driver depends on it. */
export interface PlainKafka {
  admin(): Connected & {
    createTopics(options: {
      readonly topics: readonly {
        readonly topic: string;
        readonly numPartitions: number;
        readonly replicationFactor: number;
        readonly configEntries: readonly { readonly name: string; readonly value: string }[];
      }[];
      readonly waitForLeaders: true;
    }): Promise<unknown>;
  };
  producer(): Connected & {
    send(batch: { readonly topic: string; readonly messages: readonly PlainMessage[]; readonly compression?: number }): Promise<unknown>;
  };
  consumer(options: { readonly groupId: string; readonly maxBytesPerPartition: number }): Connected & {
    subscribe(options: { readonly topic: string; readonly fromBeginning: true }): Promise<void>;
    run(options: { readonly eachBatch: (payload: { readonly batch: PlainBatch }) => Promise<void> }): Promise<void>;
  };
}

interface Connected {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

export interface PlainMessage {
  readonly key: string;
  readonly value: string;
}

interface PlainBatch {
  readonly messages: readonly { readonly key: Buffer | null; readonly value: Buffer | null }[];
}

interface KafkaJs {
  readonly Kafka: new (options: {
    readonly clientId: string;
    readonly brokers: readonly string[];
    readonly logLevel: number;
  }) => PlainKafka;
  readonly CompressionTypes: { readonly None: number; readonly GZIP: number; readonly ZSTD: number };
  readonly CompressionCodecs: Record<number, () => unknown>;
}

const ERRORS_ONLY = 1;

/** A client as anybody may have it: nothing of the driver is in between. */
export function plainKafka(brokers: readonly string[]): {
  readonly kafka: PlainKafka;
  readonly compressions: Readonly<Record<Codec, number>>;
} {
  const driver = fileURLToPath(new URL('../../../../packages/topics/package.json', import.meta.url));
  const { Kafka, CompressionTypes, CompressionCodecs } = createRequire(driver)('kafkajs') as KafkaJs;
  // kafkajs has none of its own; level 1, as Headgate's.
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: { readonly buffer: Buffer }) =>
      promisify(zstdCompress)(buffer, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
    decompress: (bytes: Buffer) => promisify(zstdDecompress)(bytes),
  });
  const compressions = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, zstd: CompressionTypes.ZSTD };
  return { kafka: new Kafka({ clientId: 'bench', brokers: [...brokers], logLevel: ERRORS_ONLY }), compressions };
}
