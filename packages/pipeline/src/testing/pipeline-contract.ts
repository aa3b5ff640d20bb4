import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { ContractCheck } from '@headgate/sources/testing';
import { type TopicLog, partitionForKey } from '@headgate/topics';
import type { Pipeline } from '../definition/pipeline.ts';
import { replayDeadLetters } from '../run/replay.ts';
import { cutLog } from './cut-log.ts';
import { openThings } from './open-things.ts';
import { type Scene, type Written, countsOf, isProgress, openScene, withoutOffsets } from './scene.ts';

/** An emulator of a pipeline's service, which counts requests independently of the pipeline. */
export interface ContractService extends AsyncDisposable {
  /** Base address of the emulator. */
  readonly url: string;
  /** Returns the number of HTTP requests that the emulator has received. */
  readonly requests: () => number;
  /** Returns the number of requests that the emulator has refused because a budget was used up. */
  readonly refused: () => number;
}

/** Options of {@link pipelineContract}. */
export interface PipelineContractOptions<Service extends ContractService> {
  /** Opens the log, whose records persist: an embedded file or a cluster. Each check has its own topics and group in it. */
  readonly openLog: () => Promise<TopicLog>;
  /**
   * Starts the service with budgets that the requests fill several times over, in windows of a second or less. `mended`: the service has a
   * response for `failing`.
   */
  readonly startService: (options: { readonly mended: boolean }) => Promise<Service>;
  /**
   * Returns the pipeline with options for this service: its budgets, and an empty list. If the pipeline has two credentials, the checks
   * also run it in two lanes.
   */
  readonly pipeline: (service: Service) => Pipeline;
  /** Valid requests with different keys. Together they need at least a dozen HTTP requests. */
  readonly requests: readonly unknown[];
  /** Number of records that these requests yield, by topic. */
  readonly records: Readonly<Record<string, number>>;
  /** A request for which the service has no response unless it is `mended`. */
  readonly failing: {
    readonly request: unknown;
    /** Code of the request's dead letter. */
    readonly code: string;
    /** Number of records that a replay of the request adds, by topic, if the service is `mended`. */
    readonly records: Readonly<Record<string, number>>;
  };
  /** Invalid values for the requests topic. Default: no value, broken JSON, and a list. */
  readonly malformed?: readonly (string | null)[];
  /** Seeds of the random interruptions. A failed check names its seed. Default 1 and 2. */
  readonly seeds?: readonly number[];
}

/** The result of an undisturbed run. */
interface Reference {
  readonly written: Written;
  readonly requests: number;
  readonly operations: number;
  /** Number of walks and keys: the maximum number of HTTP requests in flight together. */
  readonly units: number;
}

/**
 * Returns checks of the promises that every pipeline makes, for a test runner of your choice: wherever a run is interrupted, each record
 * arrives once and in order per key, and the service never has to refuse a request. Runs are interrupted within their process, by a log
 * that fails before or after a random operation, or by a stop.
 */
export function pipelineContract<Service extends ContractService>(contract: PipelineContractOptions<Service>): readonly ContractCheck[] {
  const { openLog, requests, records, failing, malformed = [null, '{', '[null]'], seeds = [1, 2] } = contract;

  const play = async (
    act: (scene: Scene, service: Service, pipeline: Pipeline) => Promise<void>,
    { lanes = 1 }: { readonly lanes?: number } = {},
  ): Promise<void> => {
    await using service = await contract.startService({ mended: false });
    const pipeline = contract.pipeline(service);
    await using scene = await openScene({ openLog, pipeline, lanes });
    await act(scene, service, pipeline);
    assertNoneRefused(service);
  };

  let known: Promise<Reference> | undefined;
  const reference = async (): Promise<Reference> => await (known ??= undisturbed());
  const undisturbed = async (): Promise<Reference> => {
    let found: Reference | undefined;
    await play(async (scene, service, { name }) => {
      await scene.request(requests);
      const counting = cutLog(scene.log, { at: Infinity, isDurable: false });
      const { snapshot } = await scene.run({ log: counting.log, validate: true });
      const written = await scene.written();
      assert.deepEqual(await scene.deadLetters(), []);
      assert.deepEqual(countsOf(written), { ...Object.fromEntries(Object.keys(written).map((topic) => [topic, 0])), ...records });
      assert.ok(service.requests() > 0, 'the service counted no request');
      const { walks, keys } = snapshot.pipelines[name] ?? { walks: { started: 0 }, keys: { queued: 0 } };
      found = { written, requests: service.requests(), operations: counting.operations, units: walks.started + keys.queued };
      await scene.run();
      assert.equal(service.requests(), found.requests, 'a second run requested something again');
    });
    assert.ok(found !== undefined);
    return found;
  };

  const cutOff = async (seed: number): Promise<void> => {
    const { written, requests: least, operations, units } = await reference();
    const random = randomFrom(seed);
    const cuts: string[] = [];
    await play(async (scene, service, pipeline) => {
      await scene.request(requests);
      for (let isOver = false; !isOver;) {
        await using handle = await openLog();
        const at = 1 + Math.floor(random() * random() * operations);
        const cut = cutLog(handle, { at, isDurable: random() < 0.5 });
        isOver = await runsToItsEnd(scene, pipeline, cut.log);
        assert.ok(isOver || cut.isCut, `a run failed although its log wasn't cut off (${cuts.join(', ')})`);
        cuts.push(`${isOver ? 'done' : 'cut'} at operation ${cut.operations}`);
        assert.ok(cuts.length < 60, "it doesn't end");
      }
      const details = `seed ${seed}, ${cuts.join(', ')}`;
      assertSame(pipeline, await scene.written(), written, details);
      assert.deepEqual(await scene.deadLetters(), [], details);
      const most = least + (cuts.length - 1) * units;
      assert.ok(service.requests() <= most, `${service.requests()} HTTP requests, but ${most} suffice (${details})`);
    });
  };

  const runsToItsEnd = async (scene: Scene, pipeline: Pipeline, log: TopicLog): Promise<boolean> => {
    try {
      await using running = await scene.start({ log, pipelines: [pipeline] });
      return (await running.done).outcome === 'done';
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'HEADGATE_TOPIC_LOG_FAILED') throw error;
      return false;
    }
  };

  const stopped = async (seed: number): Promise<void> => {
    const { written } = await reference();
    const random = randomFrom(seed);
    await play(async (scene, service, pipeline) => {
      await scene.request(requests);
      using open = openThings(service.url);
      for (let round = 0; round < 5; round += 1) {
        const stop = new AbortController();
        const reason = new Error('stopped by the contract');
        let left = Math.floor(random() * 12);
        const events: string[] = [];
        const running = await scene
          .start({
            signal: stop.signal,
            clock: open.clock,
            follow: random() < 0.5,
            onEvent({ type }) {
              events.push(type);
              left -= 1;
              if (left === 0) stop.abort(reason);
            },
          })
          .catch((error: unknown) => {
            if (error !== reason) throw error;
          });
        // Also stop a run that emits too few events, because it is waiting.
        setTimeout(() => stop.abort(reason), 300);
        const result = await running?.done;
        const details = `seed ${seed}, round ${round}, after ${events.join(', ')}`;
        assert.deepEqual(result?.failures ?? [], [], details);
        await settled(() => open.left().length === 0);
        assert.deepEqual(open.left(), [], `left open: ${details}`);
        assert.equal(getEventListeners(stop.signal, 'abort').length, 0, `listeners at the signal: ${details}`);
        await scene.takeLanes(1);
      }
      await scene.run();
      assertSame(pipeline, await scene.written(), written);
      assert.deepEqual(await scene.deadLetters(), []);
    });
  };

  const inTwoLanes = async (): Promise<void> => {
    const { written } = await reference();
    await play(
      async (scene, _, { credentials = [], requests: taken }) => {
        if (credentials.length < 2) return;
        const lanes = new Set(requests.map((request) => partitionForKey(taken.keyed(request).key, 2)));
        assert.equal(lanes.size, 2, 'all requests of the contract are in one of two lanes: add one whose key falls into the other');
        await scene.request(requests);
        const begun = Promise.withResolvers<void>();
        await using first = await scene.start({ onEvent: (event) => void (isProgress(event) && begun.resolve()) });
        await Promise.race([begun.promise, first.done]);
        await using log = await openLog();
        // A cluster distributes the lanes between the processes. An embedded log leaves all lanes with the first process.
        const second = await scene.start({ log }).catch((error: unknown) => {
          if ((error as { code?: unknown }).code !== 'HEADGATE_LANE_HELD') throw error;
        });
        assert.deepEqual((await first.stop()).failures, []);
        const { outcome, failures } = await (second?.done ?? scene.run());
        assert.deepEqual({ outcome, failures }, { outcome: 'done', failures: [] });
        assert.deepEqual(withoutOffsets(await scene.written()), withoutOffsets(written));
        assert.deepEqual(await scene.deadLetters(), []);
        const used = (await scene.left()).journals.map(({ credential }) => credential);
        assert.equal(
          new Set(used).size,
          used.length,
          `two lanes use one credential: ${used.join(', ')}. Open sources with io.credentials.`,
        );
      },
      { lanes: 2 },
    );
  };

  const besideMalformed = async (): Promise<void> => {
    const { written } = await reference();
    await play(async (scene) => {
      await scene.put(malformed);
      await scene.request(requests);
      await scene.put(malformed);
      await scene.run();
      const deadLetters = await scene.deadLetters();
      assert.deepEqual(
        deadLetters.map(({ error }) => error.code),
        [...malformed, ...malformed].map(() => 'HEADGATE_MALFORMED_REQUEST'),
      );
      assert.deepEqual(withoutOffsets(await scene.written()), withoutOffsets(written));
    });
  };

  const enqueued = async (): Promise<void> => {
    const { written, units } = await reference();
    await play(async (scene, _, pipeline) => {
      const { name } = pipeline;
      const all = Promise.withResolvers<void>();
      await using running = await scene.start({ follow: true });
      const check = (): void => {
        const { walks, keys } = running.snapshot().pipelines[name] ?? { walks: { completed: 0 }, keys: { answered: 0 } };
        if (walks.completed + keys.answered === units) all.resolve();
      };
      running.events.subscribe(check);
      const bad = malformed.find((value) => value !== null && isJson(value));
      if (bad !== undefined && bad !== null) {
        await assert.rejects(running.enqueue(name, [...requests, JSON.parse(bad)]), { code: 'HEADGATE_MALFORMED_REQUEST' });
      }
      await running.enqueue(name, requests);
      await Promise.race([all.promise, running.done]);
      // Wait for the work after crawls, too, which a stop would leave to the next run.
      await settled(() => running.snapshot().lanes.every(({ inWork }) => inWork === 0), 60_000);
      const { outcome, failures } = await running.stop();
      assert.deepEqual({ outcome, failures }, { outcome: 'stopped', failures: [] });
      assertSame(pipeline, await scene.written(), written);
    });
  };

  const replayed = async (): Promise<void> => {
    await play(async (scene, _, pipeline) => {
      await scene.request([failing.request]);
      await scene.run();
      const [deadLetter, ...more] = await scene.deadLetters();
      assert.deepEqual(more, [], 'it is one dead letter');
      assert.equal(deadLetter?.error.code, failing.code);
      assert.ok(
        deadLetter.error.message.length > 0 && deadLetter.key !== null && deadLetter.key !== '',
        'it names its request and the reason',
      );
      assert.deepEqual(pipeline.requests.keyed(deadLetter.request).key, pipeline.requests.keyed(failing.request).key);
      const before = countsOf(await scene.written());

      const onLeft = ({ reason }: { readonly reason: string }): void => assert.fail(`it can't be replayed: ${reason}`);
      const { log, group, names } = scene;
      const { signal } = new AbortController();
      const replay = async () => await replayDeadLetters({ log, group, requests: pipeline.requests, names, signal, onLeft });
      assert.deepEqual(
        [await replay(), await replay()],
        [
          { replayed: 1, left: 0 },
          { replayed: 0, left: 0 },
        ],
      );
      await using mended = await contract.startService({ mended: true });
      await scene.run({ pipelines: [contract.pipeline(mended)] });
      assert.equal((await scene.deadLetters()).length, 1);
      const after = countsOf(await scene.written());
      const added = Object.fromEntries(Object.entries(after).map(([topic, count]) => [topic, count - (before[topic] ?? 0)]));
      assert.deepEqual(added, { ...Object.fromEntries(Object.keys(after).map((topic) => [topic, 0])), ...failing.records });
      assertNoneRefused(mended);
    });
  };

  const planned = async (): Promise<void> => {
    const { units } = await reference();
    await play(async (scene, service, { makesRequests }) => {
      await scene.request(requests);
      const { lanes } = await scene.left();
      // Before the run, the requests that its pages will create aren't known.
      const known = makesRequests ? requests.length : units;
      assert.equal(
        lanes.reduce((sum, { walks, keys }) => sum + walks.length + keys, 0),
        known,
      );
      assert.equal(service.requests(), 0, 'reading the remaining work sends a request to the service');
      await scene.run();
      const after = await scene.left();
      assert.deepEqual([after.lanes.map(({ walks, keys }) => [walks, keys]), after.after], [after.lanes.map(() => [[], 0]), 0]);
      assert.ok(after.journals.length > 0, "a restart wouldn't know of any request: open sources with io.journal");
    });
  };

  return [
    {
      name: 'an undisturbed run writes the records of its requests, and a second one requests nothing',
      run: async () => void (await reference()),
    },
    ...seeds.map((seed) => ({
      name: `cut off at random and resumed, it writes each record once, in order per key, and overruns no budget (seed ${seed})`,
      run: async () => await cutOff(seed),
    })),
    ...seeds.map((seed) => ({
      name: `stopped at random, it leaves nothing open and no lane held, and resumes (seed ${seed})`,
      run: async () => await stopped(seed),
    })),
    { name: 'two lanes that move between two runs write the same as one lane', run: inTwoLanes },
    { name: 'a malformed request becomes a dead letter, and delays no other', run: besideMalformed },
    { name: 'requests are enqueued while it follows, atomically', run: enqueued },
    { name: 'a request that fails is one dead letter with its reason, and succeeds when replayed after the fix', run: replayed },
    { name: 'the remaining work is known without a request to the service', run: planned },
  ];
}

/** Compares the records. If pages create requests, their order and so their offsets differ from run to run, so the offsets are left out. */
function assertSame({ makesRequests }: Pipeline, written: Written, wanted: Written, details?: string): void {
  const of = makesRequests ? withoutOffsets : (all: Written) => all;
  assert.deepEqual(of(written), of(wanted), details);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Waits until a condition is true, or for about `maxMs`. */
async function settled(isSo: () => boolean, maxMs = 1_000): Promise<void> {
  for (let i = 0; i < maxMs / 10 && !isSo(); i += 1) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Returns a generator of random numbers from 0 to below 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function assertNoneRefused(service: ContractService): void {
  const refused = `the service had to refuse ${service.refused()} of ${service.requests()} requests: a budget was overrun`;
  assert.equal(service.refused(), 0, `${refused}, or the options of \`pipeline\` set a higher limit than \`startService\``);
}
