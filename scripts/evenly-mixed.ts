import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest first, with the projects spread evenly over the run: tests that wait for brokers leave the processor to those that compute. */
export default class EvenlyMixed extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(specifications), ({ project }) => project.name);
    const placed = [...projects.values()].flatMap((files) => files.map((file, i) => ({ file, at: i / files.length })));
    return placed.toSorted((one, other) => one.at - other.at).map(({ file }) => file);
  }
}
