import { cloudEventHeaders as headers } from '@headgate/operators';

/** The headers of a record of `topic`, in CloudEvents' binary mode. `id` is deterministic: a record written again has it again. */
export function cloudEventHeaders({
  topic,
  id,
  time,
}: {
  readonly topic: string;
  readonly id: string;
  readonly time?: string;
}): Record<string, string> {
  return { ...headers({ source: `/${topic.split('.')[0]}`, type: `headgate.${topic}`, id, time }) };
}
