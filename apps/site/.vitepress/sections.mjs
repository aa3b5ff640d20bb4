/** The menu by task: title of each page, and its path. */
export const SECTIONS = [
  { text: 'Get started', items: [['Start', '/start']] },
  {
    text: 'Guides',
    items: [
      ['Any API in YAML', '/any-api'],
      ['Recipes for services', '/recipes'],
      ['Coming from Airbyte or dlt', '/coming-from'],
      ['Consume records', '/consuming'],
      ['A pipeline of your own', '/own-pipeline'],
      ['Embed in a program', '/embed'],
      ['Streams and backpressure', '/operators'],
      ['Several tenants', '/tenants'],
    ],
  },
  {
    text: 'Reference',
    items: [
      ['Commands', '/commands'],
      ['Configuration', '/configuration'],
      ['Topics and records', '/records'],
      ['Errors by code', '/errors'],
      ['Glossary', '/glossary'],
      ['Exactly once, and its limits', '/exactly-once'],
    ],
  },
  {
    text: 'Operate',
    items: [
      ['In production', '/production'],
      ['Kafka', '/kafka'],
      ['Observe a run', '/observe'],
      ['Troubleshooting', '/troubleshooting'],
      ['Versions, support and upgrades', '/support'],
      ['Changelog', '/changelog'],
    ],
  },
];
