// The mechanical part of docs/style-guide.md: phrases that native readers stumble over, each with its cure.

/** A sentence starts at the start of the text, or after the end of another one. */
const START = String.raw`(?<=^(?:[-*>#\s]|\d+\.\s)*|[.!?]\**\s+)`;

/** @type {readonly { readonly finds: RegExp; readonly cure: string }[]} */
const RULES = [
  { finds: /\b(?:go|goes|going|went|gone) on\b(?! the\b)/iu, cure: 'Write "continue".' },
  { finds: /\b(?:anew|once more)\b/iu, cure: 'Write "again".' },
  { finds: /\b(?:stands?|stood)\b(?! for\b|-in\b)/iu, cure: 'Write "is", "appears" or "lies".' },
  { finds: /\bof (?:its|their|one's|our) own\b/iu, cure: 'Write "its own …", or "automatically".' },
  { finds: /\bby (?:itself|themselves|oneself)\b/iu, cure: 'Write "automatically", "alone" or "separately".' },
  {
    finds:
      /(?<!fall |falls |fell |lag |lags |left |leaves? )\bbehind\b(?! (?:a|an|the|your) (?:\w+ )?(?:proxy|gateway|firewall|balancer)\b)/iu,
    cure: 'Write "after".',
  },
  { finds: /\bso (?:many|much)\b(?! (?:that|as)\b)/iu, cure: 'Write "N", "that many" or the number.' },
  { finds: new RegExp(`${START}Where\\b(?![^.]*\\?)`, 'u'), cure: 'Start a condition with "If" or "When".' },
  {
    finds: /(?<!\bcheck )\bwhere (?:there (?:is|are|was|were)|none|nothing|that|no|it (?:is|was|has)|they|one)\b/iu,
    cure: 'Write "if" or "when" for a condition.',
  },
  {
    finds:
      /(?<!\bthere )\b(?:is|are|was|were) no\b(?! (?:longer|more|less|later|older|larger|greater|fewer|earlier|different|matter|better|worse)\b)/iu,
    cure: 'Write "isn\'t a", or name the positive.',
  },
  {
    finds: new RegExp(`${START}(?:What|Who|Whoever|That|Those|Of)\\b(?! (?:is|are) why\\b)(?! course\\b)(?![^.]*\\?)`, 'u'),
    cure: 'Start the sentence with its subject.',
  },
  { finds: /\bcan not\b/iu, cure: 'Write "can\'t".' },
  { finds: /\b(?:a line|an entry|one) each\b|\ba line of JSON each\b/iu, cure: 'Write "one per line".' },
  { finds: /\b(?:somebody|nobody|whoever)\b/iu, cure: 'Name the actor, or write "another process", "no client".' },
  { finds: /\ball the same\b/iu, cure: 'Write "still" or "anyway".' },
  { finds: /\b(?:is|are|was|were) to be\b/iu, cure: 'Write "must be" or use an active verb.' },
  { finds: /, as (?=["'@]|HEADGATE_|\d)/u, cure: 'Write "such as" or "for example".' },
  { finds: /\bbeside\b/iu, cure: 'Write "next to", "with" or "and".' },
];

/** Applies only to option descriptions and help, because "Most services …" is a good start elsewhere. */
const LIMIT = {
  finds: new RegExp(`${START}(?:Most|Longest|Largest|Least|Shortest|Smallest)\\b`, 'u'),
  cure: 'Write "Maximum" or "Minimum".',
};

/** Replaces code, addresses and `@link` tags with text of the same length, so that positions stay the same. */
function prose(text) {
  const blank = (found) => found.replace(/[^\n]/gu, '·');
  return text
    .replace(/`[^`]*`/gu, blank)
    .replace(/\]\([^)]*\)/gu, blank)
    .replace(/https?:\S+/gu, blank)
    .replace(/\{@link [^}]*\}/gu, blank);
}

/**
 * Finds phrases in a text that the style guide forbids.
 * @param {string} text
 * @param {{ readonly isDescription?: boolean }} [options]
 * @returns {{ readonly index: number; readonly found: string; readonly cure: string }[]}
 */
export function proseProblems(text, { isDescription = false } = {}) {
  const checked = prose(text);
  return [...RULES, ...(isDescription ? [LIMIT] : [])].flatMap(({ finds, cure }) =>
    [...checked.matchAll(new RegExp(finds, `${finds.flags}g`))].map(({ 0: found, index }) => ({ index, found, cure })),
  );
}
