import type { Pipeline } from '@headgate/pipeline';
import type { TopicLog } from '@headgate/topics';
import type { z } from 'zod';
import type { statusSection } from './config/status-section.ts';
import type { OpenLog, ownLogSection, topicsSection } from './config/topics-section.ts';

/** A configuration in code. It has the settings of a headgate.yaml, which docs/configuration.md lists. */
export interface HeadgateConfig {
  /**
   * Where records go. Default: an embedded log in ./headgate.db. Relative paths are relative to the configuration's folder. Use your own
   * `TopicLog`, or a function that opens one, directly or as `log` together with `group`, `lanes`, `prefix` and `names`; each command
   * closes it when it ends.
   */
  readonly topics?: z.input<typeof topicsSection> | z.input<typeof ownLogSection> | TopicLog | OpenLog;
  /** Settings of the status page; `false` turns it off. Default: a page at 127.0.0.1:9464. */
  readonly status?: z.input<typeof statusSection>;
  /** Pipelines with distinct names: `followers({ … })`, `books({ … })`, or the result of `definePipeline`, called with its options. */
  readonly pipelines: readonly Pipeline[];
}

/** Gives the default export of a headgate.config.ts its type. The command that loads the file validates it. */
export function defineConfig(config: HeadgateConfig): HeadgateConfig {
  return config;
}
