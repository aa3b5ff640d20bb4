/**
 * RxJS operators on pages and records, most of them also transforms for `pages.through(…)`, and plain functions for IDs, ISBNs and events.
 *
 * @packageDocumentation
 */
export {
  boundaryDuplicates,
  type BoundaryDuplicates,
  type BoundaryDuplicatesOptions,
  type BoundaryState,
  dropBoundaryDuplicates,
  type DropBoundaryDuplicatesOptions,
} from './boundary-duplicates.ts';
export { crawlChanges, type CrawlChange, type CrawlChangesOptions, type ReadCrawl } from './crawl-changes.ts';
export { cloudEventHeaders, envelope, type CloudEventAttributes, type CloudEventHeaders, type Enveloped } from './envelope.ts';
export { flattenIds, idsOf, type IdPage, type PageId } from './flatten-ids.ts';
export { OperatorError, type OperatorErrorCode } from './operator-error.ts';
export { isIsbn, normalizeIsbn, toIsbn10, toIsbn13 } from './isbn.ts';
