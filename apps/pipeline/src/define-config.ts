import type { Pipeline } from '@headgate/pipeline';
import type { TopicLog } from '@headgate/topics';
import type { z } from 'zod';
import type { statusSection } from './config/status-section.ts';
import type { OpenLog, ownLogSection, topicsSection } from './config/topics-section.ts';

/** A configuration in code. Its keys are those of a headgate.yaml: docs/configuration.md names them. */
export interface HeadgateConfig {
  /**
   * Where records go. Default: an embedded log in ./headgate.db. Relative paths are relative to the configuration's folder. A `TopicLog` of your
   * own, or a function that opens one, stands alone or as `log` beside `group`, `lanes`, `prefix` and `names`; each command closes it at its end.
   */
  readonly topics?: z.input<typeof topicsSection> | z.input<typeof ownLogSection> | TopicLog | OpenLog;
  /** Where the status page listens; false: nowhere. Default: 127.0.0.1:9464. */
  readonly status?: z.input<typeof statusSection>;
  /** Each with a name of its own: `followers({ … })`, `books({ … })`, or what `definePipeline` gave, called with its options. */
  readonly pipelines: readonly Pipeline[];
}

/** Types the default export of a headgate.config.ts. The command that loads it checks it. */
export function defineConfig(config: HeadgateConfig): HeadgateConfig {
  return config;
}
