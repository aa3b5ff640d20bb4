/** A changeset's text as an item of CHANGELOG.md. Further paragraphs are indented, so that they belong to the item. */
async function getReleaseLine({ summary }: { readonly summary: string }): Promise<string> {
  return `- ${summary.trim().replaceAll(/\n(?=.)/gu, '\n  ')}`;
}

/** Empty: all packages share one version, so a list of updated dependencies tells a reader nothing. */
async function getDependencyReleaseLine(): Promise<string> {
  return '';
}

export default { getReleaseLine, getDependencyReleaseLine };
