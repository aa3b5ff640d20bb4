import assert from 'node:assert/strict';
import { LaneHeldError, LaneLostError } from '../lane-errors.ts';
import { type DriverCheck, collect, numbered, values } from './contract-check.ts';
import { prepareLane } from './lane-checks.ts';

export function newcomerRefusedChecks(): readonly DriverCheck[] {
  return [
    {
      name: 'a second holder of a lane is refused while the first one lives, and gets the lane with its state right after that',
      async run(open) {
        await using first = await open();
        await using second = await open();
        const { topic, lane } = await prepareLane(first);
        const writer = await first.openLane(lane);
        await assert.rejects(first.openLane(lane), LaneHeldError);
        await assert.rejects(second.openLane(lane), (error) => {
          assert.ok(error instanceof LaneHeldError);
          assert.equal(error.lane, lane.name);
          assert.equal(error.retryable, true);
          return true;
        });
        await writer.transaction((tx) => {
          tx.append(numbered(topic, 1, 'first'));
          tx.checkpoint('k', 'first');
        });
        await using another = await second.openLane({ name: `${lane.name}-other`, state: { ...lane.state, partition: 0 } });
        assert.equal(another.state.size, 0);
        await writer.close();
        await using taken = await second.openLane(lane);
        assert.equal(taken.state.get('k'), 'first');
        await assert.rejects(first.openLane(lane), LaneHeldError);
      },
    },
  ];
}

export function newcomerFencesChecks(): readonly DriverCheck[] {
  return [
    {
      name: 'a second holder of a lane fences the first, which then writes nothing more',
      async run(open) {
        await using first = await open();
        await using second = await open();
        const { topic, lane } = await prepareLane(first);
        const older = await first.openLane(lane);
        await older.transaction((tx) => {
          tx.append(numbered(topic, 1, 'older'));
          tx.checkpoint('k', 'older');
        });
        await using newer = await second.openLane(lane);
        assert.equal(newer.state.get('k'), 'older');
        const late = (): Promise<void> =>
          older.transaction((tx) => {
            tx.append(numbered(topic, 1, 'late'));
            tx.checkpoint('k', 'late');
          });
        await assert.rejects(late(), LaneLostError);
        await assert.rejects(late(), LaneLostError);
        await newer.transaction((tx) => tx.append(numbered(topic, 1, 'newer')));
        assert.deepEqual(values(await collect(second, { topic })), ['older0', 'newer0']);
        assert.equal((await second.readState(lane.state.topic, lane.state.partition)).get('k'), 'older');
        await older.close();
      },
    },
  ];
}
