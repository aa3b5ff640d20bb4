import type { TopicPartition } from '../../topic-log.ts';
import type { Answered, Request } from '../requests/request.ts';
import { Cluster } from './cluster.ts';
import { plainConfig } from './plain-cluster.fixture.ts';

type Exchange = (api: string, options: never) => Partial<Answered<unknown>> | Promise<Partial<Answered<unknown>>>;

/** A cluster without connections, in which each topic has its own leader. The function `exchange` answers the driver's requests. */
export class FakeCluster extends Cluster {
  readonly #exchange: Exchange;
  readonly #onForget: () => void;

  constructor(exchange: Exchange, onForget: () => void = () => undefined) {
    super(plainConfig(['nowhere:9092']));
    this.#exchange = exchange;
    this.#onForget = onForget;
  }

  override async exchange<Options, Answer>(_: string, { api }: Request<Options, Answer>, options: Options): Promise<Answered<Answer>> {
    return { throttleMs: 0, refusals: [], answer: undefined, ...(await this.#exchange(api, options as never)) } as Answered<Answer>;
  }

  override forget(): void {
    this.#onForget();
  }

  override async anyBroker(): Promise<string> {
    return await Promise.resolve('any');
  }

  protected override async know(): Promise<void> {
    await Promise.resolve();
  }

  protected override async leaderOf({ topic }: TopicPartition): Promise<string> {
    return await Promise.resolve(`leader of ${topic}`);
  }

  protected override async controller(): Promise<string> {
    return await Promise.resolve('controller');
  }

  protected override async findCoordinator(of: 'group' | 'transaction', name: string): Promise<string> {
    return await Promise.resolve(`coordinator of ${of} ${name}`);
  }
}
