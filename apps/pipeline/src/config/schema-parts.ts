import { z } from 'zod';
import { Complaint } from './complaint.ts';
import type { KnownKey } from './known-keys.ts';
import { Leaf, isMapping } from './leaf.ts';
import type { Tree, TreeMapping } from './leaf.ts';
import { nearest } from './nearest.ts';
import { shown } from './problem.ts';
import type { KeyPath } from './problem.ts';

export type Schema<T> = z.ZodType<T>;

/** Something a rule across several keys has to say, about a path below the mapping or list it stands at. */
export interface RuleBreach {
  readonly path: KeyPath;
  readonly message: string;
}

/** What a schema's issue says beside its message. */
interface IssueParams {
  /** Whether the key is meant, not the value. */
  readonly at?: 'key' | undefined;
  /** Whether it has been reported already. */
  readonly silent?: true | undefined;
}

export const issueParams: Schema<IssueParams> = z.object({ at: z.literal('key').optional(), silent: z.literal(true).optional() });

export interface SingleOptions<T> {
  readonly read: (leaf: Leaf) => T | Complaint | Promise<T | Complaint>;
  /** Completes `is missing. Write …`. */
  readonly example: string;
}

/** One value. */
export function single<T>({ read, example }: SingleOptions<T>): Schema<T> {
  return z.unknown().transform(async (tree, ctx) => {
    if (tree instanceof Leaf && tree.broken) return refuse(ctx, 'reported already', { silent: true });
    if (tree === undefined) return refuse(ctx, `is missing. Write ${example}.`);
    if (!(tree instanceof Leaf)) return refuse(ctx, `must be a single value. Write ${example}.`);
    if (tree.value === null) return refuse(ctx, `has no value. Write ${example}, or remove the key.`);
    const result = await read(tree);
    return result instanceof Complaint ? refuse(ctx, result.message) : result;
  });
}

export interface MappingOptions<S extends z.ZodRawShape> {
  /** Of known keys alone: a message shows no others. */
  readonly shape: S & Readonly<Record<Exclude<keyof S, KnownKey>, never>>;
  /** Completes `is missing. Write …`. */
  readonly example: string;
  /** Rules across keys; asked even where single keys are wrong, so it takes the tree as it was read. */
  readonly rules?: (mapping: TreeMapping) => readonly RuleBreach[];
}

/** A mapping with these keys and no others; an unknown one is told with the nearest known one. */
export function mapping<S extends z.ZodRawShape>({
  shape,
  example,
  rules,
}: MappingOptions<S>): Schema<z.output<z.ZodObject<S, z.core.$strict>>> {
  const object = z.strictObject<S>(shape);
  return z.unknown().transform(async (tree, ctx) => {
    if (tree instanceof Leaf && tree.broken) return refuse(ctx, 'reported already', { silent: true });
    if (tree === undefined) return refuse(ctx, `is missing. Write ${example}.`);
    if (!isMapping(tree)) return refuse(ctx, `must be a mapping of keys to values. Write ${example}.`);
    const broken = rules?.(tree) ?? [];
    const result = await object.safeParseAsync(tree);
    for (const { path, message } of broken) ctx.addIssue({ code: 'custom', message, path: [...path] });
    for (const issue of result.error?.issues ?? []) {
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys) {
          const message = unknownKeyMessage(key, Object.keys(shape));
          ctx.addIssue({ code: 'custom', message, path: [...issue.path, key], params: { at: 'key' } });
        }
      } else {
        passOn(ctx, issue);
      }
    }
    return result.success && broken.length === 0 ? result.data : z.NEVER;
  });
}

export interface ListOptions<T> {
  readonly item: Schema<T>;
  /** Completes `must be a list. Write …`. */
  readonly example: string;
  /** Whether nothing may stand in it; default false. */
  readonly empty?: boolean;
  /** Rules across items. */
  readonly rules?: (items: readonly Tree[]) => readonly RuleBreach[];
}

/** A list, every item of which gets its say. */
export function list<T>({ item, example, empty = false, rules }: ListOptions<T>): Schema<readonly T[]> {
  return z.unknown().transform(async (tree, ctx) => {
    if (tree instanceof Leaf && tree.broken) return refuse(ctx, 'reported already', { silent: true });
    if (tree === undefined) return refuse(ctx, `is missing. Write ${example}.`);
    const items: unknown = tree instanceof Leaf && tree.value === null ? [] : tree;
    if (!Array.isArray(items)) return refuse(ctx, `must be a list. Write ${example}.`);
    if (items.length === 0 && !empty) return refuse(ctx, `is empty. Write ${example}.`);
    const broken = rules?.(items) ?? [];
    const result = await z.array(item).safeParseAsync(items);
    for (const { path, message } of broken) ctx.addIssue({ code: 'custom', message, path: [...path] });
    for (const issue of result.error?.issues ?? []) passOn(ctx, issue);
    return result.success && broken.length === 0 ? result.data : z.NEVER;
  });
}

/** One of several shapes, chosen by looking at what stands there, so that complaints are about the shape that was meant. */
export function chosen<T>(choose: (tree: unknown) => Schema<T>): Schema<T> {
  return z.unknown().transform(async (tree, ctx) => {
    const result = await choose(tree).safeParseAsync(tree);
    for (const issue of result.error?.issues ?? []) passOn(ctx, issue);
    return result.success ? result.data : z.NEVER;
  });
}

/** `unknown key.`, and the known one it is nearest to, where it is near. */
export function unknownKeyMessage(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key. Did you mean ${meant}?`;
  return known.length > 12 ? 'unknown key. Remove it.' : `unknown key. Here stand: ${known.join(', ')}.`;
}

/** Complaint about a word that is none of the known ones. */
export function notOneOf(leaf: Leaf, known: readonly string[]): Complaint {
  const meant = nearest(leaf.written, known);
  const choice = known.length === 1 ? known.join('') : `${known.slice(0, -1).join(', ')} or ${known.at(-1)}`;
  return new Complaint(
    `${shown(leaf.written)} is not known. ${meant === undefined ? `Write ${choice}` : `Did you mean ${meant}`}${meant === undefined ? '.' : '?'}`,
  );
}

function refuse(ctx: z.RefinementCtx, message: string, params: IssueParams = {}): never {
  ctx.addIssue({ code: 'custom', message, params });
  return z.NEVER;
}

function passOn(ctx: z.RefinementCtx, issue: z.core.$ZodIssue): void {
  const params = issue.code === 'custom' ? issue.params : undefined;
  ctx.addIssue({ code: 'custom', message: issue.message, path: [...issue.path], ...(params === undefined ? {} : { params }) });
}
