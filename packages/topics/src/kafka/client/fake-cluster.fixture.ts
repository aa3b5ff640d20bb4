import type { Answered, Request } from '../requests/request.ts';
import { Cluster, clusterOptions } from './cluster.ts';
import type { Broker } from './send-request.ts';

type Exchange = (api: string, options: never) => Partial<Answered<unknown>> | Promise<Partial<Answered<unknown>>>;

/** A cluster without connections, in which each topic has its own leader. The function `exchange` answers the driver's requests. */
export class FakeCluster extends Cluster {
  readonly #exchange: Exchange;
  readonly #onRefresh: () => void;

  constructor(exchange: Exchange, onRefresh: () => void = () => undefined) {
    super(clusterOptions({ brokers: ['nowhere:9092'] }));
    this.#exchange = exchange;
    this.#onRefresh = onRefresh;
    Object.assign(this.brokerPool, { metadata: { brokers: [] }, findConnectedBroker: async () => await Promise.resolve({}) });
  }

  override async exchange<Options, Answer>(_: Broker, { api }: Request<Options, Answer>, options: Options): Promise<Answered<Answer>> {
    return { throttleMs: 0, refusals: [], answer: undefined, ...(await this.#exchange(api, options as never)) } as Answered<Answer>;
  }

  override async connect(): Promise<void> {
    await Promise.resolve();
  }

  override async refreshMetadata(): Promise<void> {
    await Promise.resolve(this.#onRefresh());
  }

  override async addMultipleTargetTopics(): Promise<void> {
    await Promise.resolve();
  }

  override findLeaderForPartitions(topic: string): Readonly<Record<string, readonly number[]>> {
    return { [topic]: [0] };
  }

  override async findControllerBroker(): Promise<Broker> {
    return await Promise.resolve({} as Broker);
  }

  override async findBroker(): Promise<Broker> {
    return await Promise.resolve({} as Broker);
  }

  override async findGroupCoordinator(): Promise<Broker> {
    return await Promise.resolve({} as Broker);
  }
}
