import { startBooks, startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { addJobs } from './embedded-log.fixture.ts';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

it('a run reports at once that a lane can’t continue, and why, while the others do', async () => {
  await using followers = await startFollowers({ credentials: [{ name: 'app', bearer: 'another one' }] });
  await using books = await startBooks();
  const config = followersYaml({ url: followers.url, users: ['alpha'] }).replace('status: false', 'status: { port: 0 }');
  await using place = await workplace(`${config}
books: { plan: premium, baseUrl: "${books.url}", key: "\${KEY}" }
`);
  const run = place.begin('run', '--follow');
  const said = async (what: RegExp): Promise<string> => {
    await expect.poll(() => run.text().stderr).toMatch(what);
    return what.exec(run.text().stderr)?.[1] ?? '';
  };
  const url = await said(/status at (\S+)/u);
  await said(/followers lane 0 can't continue: .*401/u);
  const ready = await fetch(new URL('readyz', url));
  expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining("followers lane 0 can't continue")]);

  const state = async (): Promise<string> => {
    const { screen } = (await (await fetch(new URL('screen.json', url))).json()) as { screen: { state: { words: string } } };
    return screen.state.words;
  };
  expect(await state()).toBe("degraded: followers lane 0 can't continue");

  await addJobs(place, 'books', ['{"author":"Ursula K. Le Guin"}']);
  await said(/(Ursula K\. Le Guin) page 1/u);
  await state();
  run.interrupt();
  // An open page can look once more at the end.
  await expect.poll(state, { interval: 50 }).toBe('failed');
  expect(await run.ended).toMatchObject({ code: 130, stderr: expect.stringMatching(/Stopped after/u) as string });
});
