import { createRequire } from 'node:module';
import type { InnerBroker } from '../inner-cluster.ts';
import type { Partitions } from '../places.ts';

/** A transaction's coordinator, as kafkajs 2.2.4 uses it (producer/eosManager/index.js). */
export interface Coordinator extends InnerBroker {
  initProducerId(options: InitOptions): Promise<ProducerEpoch>;
  addPartitionsToTxn(options: TransactionOptions & { readonly topics: readonly Partitions[] }): Promise<unknown>;
  addOffsetsToTxn(options: object): Promise<unknown>;
  endTxn(options: TransactionOptions & { readonly transactionResult: boolean }): Promise<unknown>;
  readonly versions?: Readonly<Record<number, unknown>> | null;
  readonly connectionPool: { send(request: object): Promise<unknown>; isConnected(): boolean };
}

export interface InitOptions {
  readonly transactionalId: string;
  readonly transactionTimeout: number;
}

interface ProducerEpoch {
  readonly producerId: string;
  readonly producerEpoch: number;
}

interface TransactionOptions extends ProducerEpoch {
  readonly transactionalId: string;
}

/** What is used of kafkajs's encoder and decoder. */
interface Encoder {
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(value: string): Encoder;
}

interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readUVarInt(): number;
  readUVarIntString(): string;
  readTaggedFields(): void;
}

const require = createRequire(import.meta.url);
const KafkajsEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder;
const KafkajsDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as { createErrorFromCode: (code: number) => Error };

const DESCRIBE_TRANSACTIONS = 65;
const TRANSACTIONAL_ID_NOT_FOUND = 105;

/**
 * The state of a transactional id's newest transaction, e.g. `Ongoing`, `PrepareCommit`, `CompleteCommit`, `CompleteAbort`, `Empty`; undefined
 * where there is none, and with brokers before Kafka 3.0, which don't tell. DescribeTransactions, version 0, which kafkajs lacks.
 */
export async function transactionState(coordinator: Coordinator, transactionalId: string): Promise<string | undefined> {
  if (coordinator.versions?.[DESCRIBE_TRANSACTIONS] === undefined) return undefined;
  const request = {
    apiKey: DESCRIBE_TRANSACTIONS,
    apiVersion: 0,
    apiName: 'DescribeTransactions',
    // Between empty tagged fields, of the header and of the body: one transactional id. A length is one more in the compact form.
    encode: () => Promise.resolve(new KafkajsEncoder().writeUVarInt(0).writeUVarInt(2).writeUVarIntString(transactionalId).writeUVarInt(0)),
  };
  const response = {
    decode(bytes: Buffer) {
      const decoder = new KafkajsDecoder(bytes);
      decoder.readTaggedFields();
      // How long it was throttled, and how many states come.
      decoder.readInt32();
      decoder.readUVarInt();
      const errorCode = decoder.readInt16();
      decoder.readUVarIntString();
      return Promise.resolve({ errorCode, state: decoder.readUVarIntString() });
    },
    parse({ errorCode, state }: { readonly errorCode: number; readonly state: string }) {
      if (errorCode === TRANSACTIONAL_ID_NOT_FOUND) return Promise.resolve(undefined);
      return errorCode === 0 ? Promise.resolve(state) : Promise.reject(createErrorFromCode(errorCode));
    },
  };
  return (await coordinator.connectionPool.send({ request, response, logResponseError: false })) as string | undefined;
}
