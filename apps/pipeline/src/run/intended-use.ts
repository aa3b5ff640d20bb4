import type { IntendedUse } from '@headgate/topics';
import { TOPICS, laneName, replayName, requestsTopic, topicSpecs, wishListLane } from '../records/topic-names.ts';
import type { ConfigOfLog } from './topics.ts';

/** What a run does with its log, and no more: its user may have the rights to that alone. */
export function runsUse({ topics: { group, lanes }, followers, books }: ConfigOfLog): IntendedUse {
  const services = [
    ...(followers === undefined ? [] : [{ service: 'followers' as const, lanes, isListed: followers.users.length > 0 }]),
    ...(books === undefined ? [] : [{ service: 'books' as const, lanes: 1, isListed: books.isbns.length + books.authors.length > 0 }]),
  ];
  const state = services.length > 0 ? [TOPICS.state] : [];
  const requests = services.map(({ service }) => requestsTopic(service));
  const listed = services.filter(({ isListed }) => isListed).map(({ service }) => requestsTopic(service));
  // Crawls are compared by what was written of the last one.
  const compared = followers?.emit.includes('changes') === true ? [TOPICS.followersPages] : [];
  const reads = new Set<string>([...state, ...requests, ...compared]);
  const writes = (name: string): boolean => services.some(({ service }) => name.startsWith(`${service}.`) && !requests.includes(name));
  const writesToo = new Set<string>([...state, ...listed]);
  return {
    topics: topicSpecs(lanes).map(({ name }) => ({ name, reads: reads.has(name), writes: writes(name) || writesToo.has(name) })),
    groups: services.length > 0 ? [group] : [],
    lanes: [
      ...services.flatMap((one) => Array.from({ length: one.lanes }, (_, lane) => laneName(group, one.service, lane))),
      ...(listed.length > 0 ? [wishListLane(group)] : []),
    ],
  };
}

/** What `enqueue` and `replay` do with the log besides. */
export function othersUse({ topics: { group } }: Pick<ConfigOfLog, 'topics'>): IntendedUse {
  return { groups: [replayName(group)], lanes: [replayName(group)], appends: true };
}
