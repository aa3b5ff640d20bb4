/** Options of the local search. VitePress sends the functions to the browser as text, so they can't use anything outside themselves. */
export const SEARCH = {
  miniSearch: {
    searchOptions: {
      fuzzy: 0.2,
      prefix: true,
      boost: { title: 4, titles: 2, text: 1 },
      boostDocument: (id) => {
        if (/^\/observe\.html#(?:events|statusjson)/u.test(id)) return 0.3;
        if (id.startsWith('/reference/')) return 0.02;
        return /^\/(?:packages|examples|contributing|architecture|bench|releasing|style-guide|changelog)/u.test(id) ? 0.05 : 1;
      },
    },
  },
};
