import type { Pipeline } from '@headgate/pipeline';
import type { StatusConfig } from './status-section.ts';
import type { TopicsConfig } from './topics-section.ts';

/** A valid configuration. Durations are in ms. */
export interface Config {
  readonly topics: TopicsConfig;
  readonly status: false | StatusConfig;
  /** One or more, in the order of the file. */
  readonly pipelines: readonly Pipeline[];
}
