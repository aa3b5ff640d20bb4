import type { Json } from '@headgate/throttle';
import type { Processor } from '../definition/processor.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import type { TopicMap } from '../topics/topic.ts';
import { guard, synchronous } from '../topics/user-function.ts';
import { lastCrawlsIn } from './last-crawls.ts';
import type { WalkDefinition } from './walk-definition.ts';
import { afterStageOf, pageAfter, rest, startOf, walkStates } from './walk-state.ts';
import { WalkWork } from './walk-work.ts';

/**
 * Processes each request as a walk through many pages. A page's records, its checkpoint and the transforms' state are one transaction. The
 * walks of a lane run concurrently. With `carry`, walks of one key run one after another.
 */
export function walk<Query, Page, Cursor extends NonNullable<Json>, Request, Topics extends TopicMap, Value = Page>(
  definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>,
): Processor<Request, Topics> {
  const names = (definition.through ?? []).map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new PipelineError({
      code: 'HEADGATE_DEFINITION',
      message: `walk: two transforms are named ${twice}. Give each its own name.`,
    });
  }
  return {
    sources: [definition.source],
    open: (context) => new WalkWork(definition, context),
    left(state, pipeline) {
      const states = walkStates<Cursor>(state);
      return (record, request) => {
        const saved = states.get(record.offset);
        if (afterStageOf(saved, record) !== undefined) return { kind: 'after' };
        const resumed = saved?.at === undefined ? rest<Cursor>(record) : undefined;
        const { at, isRest } = saved?.at !== undefined ? saved : resumed === undefined ? {} : startOf(resumed);
        const whole = isRest !== true && (guard({ pipeline, name: 'whole' }, synchronous, () => definition.whole?.(request)) ?? true);
        return { kind: 'walk', page: pageAfter(at), whole };
      };
    },
    lastCrawl(state, { kind }) {
      const last = lastCrawlsIn(state, kind);
      return (_, key) => last.get(key);
    },
  };
}
