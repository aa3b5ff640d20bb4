import type { Pipeline } from '../definition/pipeline.ts';
import type { RunEvent } from '../events/events.ts';
import { refusalNotice } from './limit-notice.ts';

/** Number of a pipeline's refusals after which a notice explains them. Displays needn't show later ones individually. */
export const EXPLAINED_REFUSALS = 5;

/**
 * Watches the attempts of all pipelines. Emits one notice per run when a service has refused several of a pipeline's requests because of its
 * rate limit. Emits none if the service's responses state that limit, because that has its own notice.
 */
export function refusalWatch(
  pipelines: readonly Pick<Pipeline, 'name' | 'options'>[],
  emit: (event: Extract<RunEvent, { type: 'notice' }>) => void,
): (event: Extract<RunEvent, { type: 'attempt' }>) => void {
  const counts = new Map(pipelines.map((pipeline) => [pipeline.name, { pipeline, sent: 0, refused: 0, isStated: false }]));

  return ({ pipeline: name, outcome, limitMismatch }) => {
    const count = counts.get(name);
    if (count === undefined) return;
    count.sent += 1;
    if (limitMismatch !== undefined && limitMismatch.stated.requests < limitMismatch.configured.requests) count.isStated = true;
    if (outcome !== 'rate-limited') return;
    count.refused += 1;
    if (count.refused === EXPLAINED_REFUSALS && !count.isStated) emit(refusalNotice(count.pipeline, count));
  };
}
