import type { Pipeline } from '@headgate/pipeline';
import type { StatusConfig } from './status-section.ts';
import type { TopicsConfig } from './topics-section.ts';

/** A parsed configuration: paths absolute, durations in ms, defaults filled in, secrets behind functions. */
export interface Config {
  readonly topics: TopicsConfig;
  readonly status: false | StatusConfig;
  /** One or more, in the order of the file. */
  readonly pipelines: readonly Pipeline[];
}
