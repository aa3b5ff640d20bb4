import type { Journal } from '@headgate/throttle';
import { type JournalReader, inheritedBudgets, journalReader, laneJournal } from './lane-journal.ts';
import { type Lane, type OpenLaneOptions, openLane } from './lane.ts';
import { assertStateKept, topicId } from './state-check.ts';
import { lanePartitions, lanesOf, requestsTopic, stateTopic } from '../topics/names.ts';
import type { PipelineTopics } from '../topics/topics.ts';
import type { TopicNames } from '../topics/topic.ts';

/** Options of {@link openJournalledLane}. */
export interface OpenJournalledLaneOptions extends Pick<OpenLaneOptions, 'log' | 'group' | 'clock' | 'signal' | 'onlyIfFree' | 'onCommit'> {
  /** Number of lanes of each pipeline that splits its credentials. */
  readonly lanes: number;
  /** Returns the log's name of a topic. */
  readonly names: TopicNames;
  /** The pipeline that the lane belongs to. */
  readonly pipeline: PipelineTopics;
  /** Partition of the pipeline's requests topic. */
  readonly number: number;
  /** True to write grants ahead where budgets are ample. Default false. */
  readonly grantsAhead?: boolean;
  /** Reads the journals of the other lanes. Default: a new reader. */
  readonly journals?: JournalReader;
  /** Returns the ID of a topic. Undefined if it is unknown. Default: asks the log. */
  readonly idOf?: (topic: string) => Promise<string | undefined>;
}

/**
 * Takes a lane, and returns it with the journal of its credentials' budgets. Throws the errors of `TopicLog.openLane`, or a
 * `StateLostError` if the lane's state doesn't match its requests topic.
 */
export async function openJournalledLane(options: OpenJournalledLaneOptions): Promise<{ readonly lane: Lane; readonly journal: Journal }> {
  const {
    log,
    group,
    names,
    clock,
    pipeline,
    number,
    signal,
    onlyIfFree = false,
    onCommit,
    grantsAhead,
    journals = journalReader(log, group, clock),
    idOf = (topic) => topicId(log, topic),
  } = options;
  const state = { topic: stateTopic(pipeline, names), partition: number };
  const topic = requestsTopic(pipeline, names);
  const lane = await openLane({
    log,
    group,
    topic,
    partition: number,
    state,
    writes: lanePartitions(pipeline, names, number),
    clock,
    signal,
    onCommit,
    onlyIfFree,
  });
  try {
    const lanes = lanesOf(pipeline, options.lanes);
    const id = idOf(topic);
    const [inherited] = await Promise.all([
      inheritedBudgets(journals, state.topic, number, lanes),
      assertStateKept({ log, group, pipeline, names, lane: number, id, stateAt: lane.stateAt }),
    ]);
    lane.noteTopic(await id);
    return { lane, journal: laneJournal(lane, clock, inherited, lanes, grantsAhead) };
  } catch (error) {
    // Closing it would write that nothing is finished yet, and the next run would take this for the lane's state.
    await lane.abandon();
    throw error;
  }
}
