import type { BooksConfig } from './config.ts';

export interface ConfigTemplateOptions {
  /** Default: the followers service is left out. */
  readonly followers?: { readonly baseUrl: string };
  /** Default: the books service is left out. */
  readonly books?: { readonly baseUrl: string; readonly plan: BooksConfig['plan'] };
}

/** A headgate.yaml that says beside each key what it is for; what has a default stands there as a comment. */
export function configTemplate({ followers, books }: ConfigTemplateOptions): string {
  const sections = [HEAD, followers === undefined ? '' : followersPart(followers), books === undefined ? '' : booksPart(books)];
  return sections.filter((section) => section !== '').join('\n');
}

/** The environment variables such a file takes. */
export function templateVariables({ followers, books }: ConfigTemplateOptions): readonly string[] {
  return [...(followers === undefined ? [] : ['FOLLOWERS_BEARER_TOKEN']), ...(books === undefined ? [] : ['BOOKS_KEY'])];
}

const HEAD = `# Headgate's configuration. Look it over with: headgate check
# "\${NAME}" takes an environment variable, or a line NAME=value of the file .env beside this one:
# keep secrets there, and keep .env out of version control. Paths are relative to this file.

topics: { driver: sqlite, file: ./headgate.db }    # everything in one file, nothing to install
# topics: { driver: kafka, brokers: [127.0.0.1:9092], group: headgate, lanes: 1, replication: 3, compression: gzip }
# Brokers that ask for it need more within those braces:
#   ssl: true, or { ca: ./ca.pem }; with a certificate of our own { ca: ./ca.pem, cert: ./client.pem, key: ./client-key.pem }
#   sasl: { mechanism: scram-sha-512, username: headgate, password: "\${KAFKA_PASSWORD}" }   # or plain, scram-sha-256
#   sasl: { mechanism: oauthbearer, tokenFile: ./token }    # read whenever brokers ask; or token: "\${KAFKA_TOKEN}"

# status: { port: 9464, host: 127.0.0.1 }          # status page and metrics; false turns it off
# Other machines need more within those braces:
#   host: 0.0.0.0, allowRemote: true               # the page has no password
#   names: [headgate.internal]                     # that it is asked by, besides addresses and localhost
`;

function followersPart({ baseUrl }: NonNullable<ConfigTemplateOptions['followers']>): string {
  return `followers:
  baseUrl: ${quoted(baseUrl)}
  credentials:                                     # more of them make it faster: each has a budget of its own
    - { name: app, bearer: "\${FOLLOWERS_BEARER_TOKEN}" }
    # - { name: user, oauth1: { consumerKey: "\${CONSUMER_KEY}", consumerSecret: "\${CONSUMER_SECRET}", token: "\${TOKEN}", tokenSecret: "\${TOKEN_SECRET}" } }
  users: []                                        # whom to crawl: [alpha, { userId: "12" }, { file: users.txt }]
  emit: [pages, ids]                               # pages, ids, changes (who followed and unfollowed since the last crawl; with pages only)
  # limit: { requests: 15, window: 15m }           # per credential
  # count: 5000                                    # ids a page
  # stringifyIds: true                             # false asks for bare numbers; ids arrive exact either way
  # maxOutstanding: 20000                          # ids asked for and not yet written
  # maxEmptyPages: 100                             # in a row; then the walk becomes a dead letter, which replay goes on with
  # timeout: 30s                                   # per try
  # retryFor: 10m                                  # then the request becomes a dead letter
  # allowPlainHttp: false                          # true where an http:// address of another machine is meant
  # every: 24h                                     # crawl again
`;
}

function booksPart({ baseUrl, plan }: NonNullable<ConfigTemplateOptions['books']>): string {
  return `books:
  plan: ${plan.padEnd(43)}# default, premium or pro: 1, 3 or 5 requests a second
  baseUrl: ${quoted(baseUrl)}
  key: "\${BOOKS_KEY}"                               # works at its own plan's address only
  isbns: []                                        # what to look up: ["9780792712305", { file: isbns.txt }]
  authors: []                                      # ["Charlotte Vale Allen"]
  # maxBatch: 100                                  # ISBNs a request
  # pageSize: 100                                  # books a page of an author's; a request each
  # maxPages: 500                                  # of an author; then a dead letter, which replay goes on with
  # perDay: { isbns: 5000, resetsAt: "00:00", zone: UTC }
  # every: 24h                                     # look up again
`;
}

/** JSON's strings are YAML's, too; the doubled sign keeps a literal one from being taken for a variable. */
function quoted(text: string): string {
  return JSON.stringify(text.replaceAll('${', () => '$${'));
}
