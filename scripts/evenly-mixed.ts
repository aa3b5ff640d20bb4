import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Keeps vitest's order within each project, but mixes the projects evenly, so that tests that wait for brokers leave the CPU to other
 * tests.
 */
export default class EvenlyMixed extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(specifications), ({ project }) => project.name);
    const placed = [...projects.values()].flatMap((files) => files.map((file, i) => ({ file, at: i / files.length })));
    return placed.toSorted((one, other) => one.at - other.at).map(({ file }) => file);
  }
}
