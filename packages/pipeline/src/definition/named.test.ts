import { expect, it } from 'vitest';
import { start } from '../run/start.ts';
import { shop, shopService } from '../testing/shop.fixture.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';

it('a definition under two names is two pipelines, each with its own options, topics and jobs', async () => {
  await using berlin = await shopService(['ann']);
  await using paris = await shopService(['ann', 'bea']);
  await using place = await temporaryLog();
  const { log } = place;
  const pipelines = [shop({ baseUrl: berlin.url }), shop.named('shop-paris')({ baseUrl: paris.url })];
  const run = await start({ log, pipelines, follow: true });
  await run.enqueue('shop', [{ kind: 'orders', name: 'ann' }]);
  await run.enqueue('shop-paris', [
    { kind: 'orders', name: 'ann' },
    { kind: 'orders', name: 'bea' },
  ]);
  const keys = async (topic: string) => (await Array.fromAsync(log.read({ topic }))).map(({ key }) => key);
  await expect.poll(() => keys('shop-paris.ends')).toHaveLength(2);
  await expect.poll(() => keys('shop.ends')).toEqual(['orders of ann']);
  expect((await keys('shop-paris.orders')).toSorted()).toEqual(['ann', 'ann', 'ann', 'bea', 'bea', 'bea']);
  expect(await keys('shop.orders')).toEqual(['ann', 'ann', 'ann']);
  await run.stop();
  expect([shop.definition.name, shop.named('a').named('b').definition.name]).toEqual(['shop', 'b']);
});

it.each(['Shop', 'headgate', ''])('a definition can’t be named "%s"', (name) => {
  expect(() => shop.named(name)).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
});
