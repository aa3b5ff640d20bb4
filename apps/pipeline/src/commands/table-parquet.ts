import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Cell, TableColumn, RowWriter } from './table-columns.ts';
import type { Sink } from './paced-output.ts';

/** A row group is written when it has this many rows or about this many bytes. Until then, it stays in memory. */
const GROUP = { rows: 50_000, bytes: 8 * 2 ** 20 };

/** Writes Parquet, compressed with Snappy. */
export function parquet(columns: readonly TableColumn[], sink: Sink, most: typeof GROUP = GROUP): RowWriter {
  const bytes = new ByteWriter(most.bytes);
  const drain = async (): Promise<void> => {
    const chunk = bytes.getBytes().slice();
    bytes.index = 0;
    await sink.write(chunk);
  };
  const file = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'record', num_children: columns.length }, ...columns.flatMap(schemaOf)],
    createdBy: 'headgate',
  });
  let group: unknown[][] = columns.map(() => []);
  let rows = 0;
  let size = 0;

  const writeGroup = async (): Promise<void> => {
    if (rows === 0) return;
    await file.write({
      columnData: columns.map(({ name }, i) => ({ name, data: group[i] ?? [], offsetIndex: false })),
      rowGroupSize: rows,
    });
    group = columns.map(() => []);
    [rows, size] = [0, 0];
    await drain();
  };
  return {
    async row(cells) {
      for (const [i, cell] of cells.entries()) {
        group[i]?.push(parquetCell(cell, columns[i]?.type));
        size += sizeOf(cell);
      }
      rows += 1;
      if (rows >= most.rows || size >= most.bytes) await writeGroup();
    },
    async end() {
      await writeGroup();
      await file.finish();
      await drain();
    },
  };
}

function schemaOf({ name, type }: TableColumn): SchemaElement[] {
  const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' } as const;
  switch (type) {
    case 'text':
    case 'json':
      return [{ name, ...text }];
    case 'whole':
      return [{ name, type: 'INT64', repetition_type: 'OPTIONAL' }];
    case 'time':
      // The logical type says that the times are UTC. Given only the converted type, some readers treat them as local times.
      return [
        {
          name,
          type: 'INT64',
          converted_type: 'TIMESTAMP_MILLIS',
          logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
          repetition_type: 'OPTIONAL',
        },
      ];
    case 'truth':
      return [{ name, type: 'BOOLEAN', repetition_type: 'OPTIONAL' }];
    case 'texts':
      return [
        { name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', ...text },
      ];
  }
}

function parquetCell(cell: Cell, type: TableColumn['type'] | undefined): unknown {
  if (cell === null) return undefined;
  if (type === 'time') return new Date(Number(cell));
  return type === 'whole' ? BigInt(Number(cell)) : cell;
}

function sizeOf(cell: Cell): number {
  if (typeof cell === 'string') return cell.length;
  return Array.isArray(cell) ? cell.reduce((sum: number, text: string) => sum + text.length, 0) : 8;
}
