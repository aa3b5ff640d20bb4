import { afterEach } from 'vitest';
import { Cluster } from '../client/cluster.ts';
import type { Answered, Request } from '../requests/request.ts';

const exchange = Reflect.get(Cluster.prototype, 'exchange');

/** Lets `forge` change the responses to requests of this kind, until the test ends. Call `forgetForgeries` once in the file. */
export function forgeAnswers<Forged>(api: string, forge: (answered: Answered<Forged>, asked: string) => Answered<Forged>): void {
  Cluster.prototype.exchange = async function <Options, Answer>(
    this: Cluster,
    asked: string,
    request: Request<Options, Answer>,
    options: Options,
  ): Promise<Answered<Answer>> {
    const answered = (await exchange.call(this, asked, request as never, options)) as Answered<never>;
    return request.api === api ? (forge(answered, asked) as Answered<never>) : answered;
  };
}

/** Undoes `forgeAnswers` after each test of the file. */
export function forgetForgeries(): void {
  afterEach(() => {
    Cluster.prototype.exchange = exchange;
  });
}
