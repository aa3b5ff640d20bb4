/**
 * A journal of budgets in a file: a program that starts again continues the same windows.
 *
 * @packageDocumentation
 */
export { type FileJournal, fileJournal, type FileJournalOptions } from './file-journal.ts';
export { FileJournalError } from './journal-rows.ts';
