/** A changeset's text as an item of CHANGELOG.md; its further paragraphs stay within the item. */
async function getReleaseLine({ summary }: { readonly summary: string }): Promise<string> {
  return `- ${summary.trim().replaceAll(/\n(?=.)/gu, '\n  ')}`;
}

/** All packages share one version: which others were lifted says nothing. */
async function getDependencyReleaseLine(): Promise<string> {
  return '';
}

export default { getReleaseLine, getDependencyReleaseLine };
