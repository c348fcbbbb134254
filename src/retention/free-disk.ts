import type { AgePlace, RetentionStore } from '../storage/retention.js'
import type { LoaderTable } from '../storage/tables.js'
import type { createStepSize, PassDeps } from './pass.js'

export interface DiskDeps extends PassDeps {
  readonly store: RetentionStore
  findTable(name: string): Promise<LoaderTable | undefined>
  /** free bytes of the file system of the data */
  diskFree(): Promise<number>
  /** Removes the bytes of files that no row names. */
  sweepFiles(): Promise<void>
  /** mark of free bytes below which tables give rows, and these tables in their order; 0 for none */
  mark(): { readonly minFreeBytes: number; readonly giveFirst: readonly string[] }
}

/**
 * Removes the oldest rows of the tables that give first while the disk is below its mark, and gives their space back.
 *
 * @returns rows that were removed, and whether the disk is below the mark still
 */
export async function freeDisk(
  deps: DiskDeps,
  size: ReturnType<typeof createStepSize>,
  rest: (tookMs: number) => Promise<void>,
): Promise<{ removed: number; isShort: boolean }> {
  const { minFreeBytes, giveFirst } = deps.mark()
  let removed = 0
  if (minFreeBytes === 0 || (await missing(deps)) <= 0) return { removed, isShort: false }
  for (const name of giveFirst) {
    for await (const count of giveRows(deps, name, size, rest)) {
      removed += count
      if ((await missing(deps)) <= 0) break
    }
    while (await deps.store.shrink(0)) await rest(1)
    if ((await missing(deps)) <= 0) return { removed, isShort: false }
  }
  return { removed, isShort: true }
}

/** Bytes that are missing to the mark; space within the file that rows can use counts as free. */
async function missing({ store, diskFree, mark }: DiskDeps): Promise<number> {
  const { freePages, pageBytes } = await store.space()
  return mark().minFreeBytes - (await diskFree()) - freePages * pageBytes
}

/** Removes the oldest rows of a table; yields their number after each step. */
async function* giveRows(
  { store, findTable, sentRows, sweepFiles, clock }: DiskDeps,
  name: string,
  size: ReturnType<typeof createStepSize>,
  rest: (tookMs: number) => Promise<void>,
): AsyncGenerator<number> {
  const table = await findTable(name)
  if (table === undefined) return
  const dropsUnsent = (await store.find(table))?.rule.dropsUnsent ?? false
  const sent = await sentRows(table)
  const hasFiles = table.columns.some(({ file }) => file !== null)
  let after: AgePlace | null = null
  do {
    const limit = size.rows()
    const nowUs = BigInt(clock.nowUs())
    const result = await store.removeOldest(table, { nowUs, sent, dropsUnsent, limit, after })
    if (result === undefined) return
    size.took(result.tookMs, result.removed)
    after = result.next
    await rest(result.tookMs)
    while (await store.cleanIndex(table)) await rest(1)
    if (result.removed > 0 && hasFiles) await sweepFiles()
    yield result.removed
  } while (after !== null)
}
