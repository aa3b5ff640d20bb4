/** Every topic by its name on the log. */
export const TOPICS = {
  followersRequests: 'followers.requests',
  followersPages: 'followers.pages',
  followersIds: 'followers.ids',
  followersChanges: 'followers.changes',
  followersCrawls: 'followers.crawls',
  followersDeadLetters: 'followers.dead-letters',
  followersState: 'followers.state',
  booksRequests: 'books.requests',
  booksRecords: 'books.records',
  booksAuthors: 'books.authors',
  booksMissing: 'books.missing',
  booksDeadLetters: 'books.dead-letters',
  booksState: 'books.state',
  groupState: 'headgate.state',
} as const;
