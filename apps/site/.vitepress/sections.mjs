/** The menu by task: title of each page, and its path. */
export const SECTIONS = [
  {
    text: 'Get started',
    items: [
      ['What Headgate does', '/start-here'],
      ['A first session', '/a-first-session'],
      ['Your first job', '/first-job'],
    ],
  },
  {
    text: 'Concepts',
    items: [
      ['Glossary', '/glossary'],
      ['Exactly once, and its limits', '/exactly-once'],
      ['Streams and backpressure', '/operators'],
    ],
  },
  {
    text: 'Guides',
    items: [
      ['Any API in YAML', '/any-api'],
      ['Recipes for services', '/recipes'],
      ['Coming from Airbyte or dlt', '/coming-from'],
      ['A pipeline of your own', '/own-pipeline'],
      ['Parents and children', '/parents-and-children'],
      ['Incremental crawls', '/incremental'],
      ['Several tenants', '/tenants'],
      ['Embed in a program', '/embed'],
      ['Consume records', '/consuming'],
    ],
  },
  {
    text: 'Reference',
    items: [
      ['Commands', '/commands'],
      ['Configuration', '/configuration'],
      ['Topics and records', '/records'],
      ['JSON log and /status.json', '/run-json'],
      ['Errors by code', '/errors'],
      ['Metrics', '/metrics'],
      ['Traces', '/traces'],
    ],
  },
  {
    text: 'Operate',
    items: [
      ['In production', '/production'],
      ['Kafka', '/kafka'],
      ['Status page', '/status-page'],
      ['Alert when a job stops', '/alerting'],
      ['Troubleshooting', '/troubleshooting'],
      ['FAQ', '/faq'],
      ['Upgrade', '/upgrade'],
      ['Versions and support', '/support'],
      ['Changelog', '/changelog'],
    ],
  },
];
