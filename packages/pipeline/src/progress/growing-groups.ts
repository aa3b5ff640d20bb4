import type { JobGroups } from '../definition/pipeline-definition.ts';

/** Returns the groups that can still get jobs, because groups with unfinished jobs make them, or groups that these make. */
export function growingGroups({ makes }: JobGroups, hasLeft: (group: string) => boolean): ReadonlySet<string> {
  const growing = new Set<string>();
  const grow = (name: string): void => {
    if (growing.has(name)) return;
    growing.add(name);
    makes[name]?.forEach(grow);
  };
  for (const [name, made] of Object.entries(makes)) if (hasLeft(name)) made.forEach(grow);
  return growing;
}
