import { createRequire } from 'node:module';
import type { Broker } from './broker.ts';
import type { Partitions } from '../../topic-partition.ts';
import { rawAnswer } from './raw-answer.ts';

/** A transaction's coordinator, as kafkajs 2.2.4 uses it (producer/eosManager/index.js). */
export interface Coordinator extends Broker, TransactionBroker {
  /** Its newest one's state: see `transactionState`. */
  describeTransaction(options: { readonly transactionalId: string }): Promise<string | undefined>;
  initProducerId(options: InitOptions): Promise<ProducerEpoch>;
  addPartitionsToTxn(options: AddPartitionsOptions): Promise<unknown>;
  addOffsetsToTxn(options: object): Promise<unknown>;
  endTxn(options: TransactionOptions & { readonly transactionResult: boolean }): Promise<unknown>;
}

interface TransactionBroker {
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

interface AddPartitionsOptions extends TransactionOptions {
  readonly topics: readonly Partitions[];
}

/** The methods of kafkajs's encoder and decoder that are used here. */
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
const { requests } = require('kafkajs/src/protocol/requests') as { readonly requests: { readonly AddPartitionsToTxn: unknown } };

const ADD_PARTITIONS_TO_TXN = 24;
const DESCRIBE_TRANSACTIONS = 65;
const TRANSACTIONAL_ID_NOT_FOUND = 105;
/** OPERATION_NOT_ATTEMPTED: another partition of the request is the one that is refused. */
const NOT_ATTEMPTED = 55;

interface AddedPartitions {
  readonly errors: readonly { readonly topic: string; readonly partitionErrors: readonly { readonly errorCode: number }[] }[];
}

/** A broker of kafkajs with what its transactions lack. */
export function withTransactions<B extends Broker & TransactionBroker>(broker: B): B {
  return Object.assign(broker, {
    addPartitionsToTxn: (options: AddPartitionsOptions) => addPartitionsToTxn(broker, options),
    describeTransaction: (options: { readonly transactionalId: string }) => transactionState(broker, options.transactionalId),
  });
}

/** As kafkajs's own, which throws the first partition's error, where others' matter. Throws them all, each with its topic. */
async function addPartitionsToTxn(broker: Broker, options: AddPartitionsOptions): Promise<unknown> {
  const request = { apiKey: ADD_PARTITIONS_TO_TXN, definition: requests.AddPartitionsToTxn, options };
  const answer = (await rawAnswer(broker, request)) as AddedPartitions;
  const errors = answer.errors.flatMap(({ topic, partitionErrors }) => {
    const code = partitionErrors.map(({ errorCode }) => errorCode).find((each) => each !== 0 && each !== NOT_ATTEMPTED);
    return code === undefined ? [] : [Object.assign(createErrorFromCode(code), { topic })];
  });
  const [first, ...others] = errors;
  if (first === undefined) return answer;
  throw others.length === 0 ? first : Object.assign(first, { errors: others });
}

/**
 * The state of a transactional id's newest transaction, e.g. `Ongoing`, `PrepareCommit`, `CompleteCommit`, `CompleteAbort`, `Empty`; undefined
 * where there is none, and with brokers before Kafka 3.0, which lack the request. DescribeTransactions, version 0, which kafkajs lacks.
 */
async function transactionState(coordinator: TransactionBroker, transactionalId: string): Promise<string | undefined> {
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
