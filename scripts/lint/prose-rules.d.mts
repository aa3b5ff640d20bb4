interface ProseProblem {
  readonly index: number;
  readonly found: string;
  readonly cure: string;
}

interface ProseOptions {
  /** Whether the text describes a setting or an option. Default: false. */
  readonly isDescription?: boolean;
}

export function proseProblems(text: string, options?: ProseOptions): readonly ProseProblem[];
