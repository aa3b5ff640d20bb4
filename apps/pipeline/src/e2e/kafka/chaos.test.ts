import { describe } from 'vitest';

// Most of their time these wait for sessions to end: side by side they take a third of it. Each has a broker of its own.
describe.concurrent('on Kafka', async () => {
  await import('./moved.part.fixture.ts');
  await import('./broker-faults.part.fixture.ts');
  await import('./killed.part.fixture.ts');
  await import('./commands.part.fixture.ts');
  await import('./standing-by.part.fixture.ts');
  await import('./dead-members.part.fixture.ts');
  await import('./stalled-readers.part.fixture.ts');
  await import('./list.part.fixture.ts');
  await import('./vanished.part.fixture.ts');
  await import('./run-to-the-end.part.fixture.ts');
  await import('./changes.part.fixture.ts');
  await import('./silent-broker.part.fixture.ts');
});
