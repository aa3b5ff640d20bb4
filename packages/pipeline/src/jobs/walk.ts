import type { Json } from '@headgate/throttle';
import type { CrawlSize, Processor } from '../definition/processor.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import type { TopicMap } from '../topics/topic.ts';
import { guard, synchronous } from '../topics/user-function.ts';
import type { WalkDefinition } from './walk-definition.ts';
import { type WalkState, afterStageOf, pageAfter, rest, startOf } from './walk-state.ts';
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
    size({ pipeline, kind, record, request, key, stateAt }) {
      const saved = stateAt(STATE_KEYS.job + String(record.offset)) as WalkState<Cursor> | undefined;
      if (afterStageOf(saved, record) !== undefined) return { kind: 'after' };
      const resumed = saved?.at === undefined ? rest<Cursor>(record) : undefined;
      const { at, isRest } = saved?.at !== undefined ? saved : resumed === undefined ? {} : startOf(resumed);
      const whole = isRest !== true && (guard({ pipeline, name: 'whole' }, synchronous, () => definition.whole?.(request)) ?? true);
      return { kind: 'walk', page: pageAfter(at), whole, last: stateAt(STATE_KEYS.last + kind + key) as CrawlSize | undefined };
    },
  };
}
