import type { Command } from 'commander'
import { LOSS_ACCEPTED } from '../storage/meta.js'
import { createVacuum } from '../storage/sqlite/citations/vacuum.js'
import { createTableStore } from '../storage/sqlite/tables/store.js'
import { createPause } from '../storage/work/pause.js'
import { sweepFiles } from '../tables/jobs.js'
import { type CiteData, withCiteData } from './data/cite-data.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from './io.js'
import { group } from './maps/map-facts.js'
import { sizeText, withModelData } from './models/model-data.js'
import { createProgress } from './progress.js'

interface VacuumFlags extends GlobalOptions {
  compact?: boolean
  acceptLoss?: boolean
}

/** Work and pause of a step: a running gateway gets the write lock in the pauses. */
const SLICE_MS = 20
const REST_MS = 10

const rest = () => new Promise<void>((resolve) => setTimeout(resolve, REST_MS))

/** Adds the verb `vacuum`. */
export function addVacuumCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('vacuum')
    .description('removes row versions and files that no citation and no table refers to')
    .option('--compact', 'returns free space to the system; needs as much free space as the database takes')
    .option(
      '--accept-loss',
      'also removes files that no row refers to when they are many, as they are beside a wrong database',
    )
    .action(async (_options, command: Command) => {
      const { acceptLoss } = command.optsWithGlobals<VacuumFlags>()
      if (acceptLoss === true) await acceptModelLoss(command, io, deps)
      await withCiteData<VacuumFlags>(command, deps, (data, flags) => vacuum(io, data, flags))
    })
}

/** Lets the next sweep of the gateway, which alone knows what is being stored, remove bytes of models. */
async function acceptModelLoss(command: Command, io: CliIo, deps: CliDeps): Promise<void> {
  await withModelData<VacuumFlags>(command, deps, async ({ state }) => {
    await state.meta.note(LOSS_ACCEPTED, 'yes')
    await state.audit.note({ act: 'accept-loss', what: 'bytes of models' })
  })
  io.stderr.write(
    'fieldgate: the next sweep of the gateway (modelStore.sweepMinutes) removes the bytes of models that no row refers to\n',
  )
}

async function vacuum(
  io: CliIo,
  { data, files, lease }: CiteData,
  { compact, json, acceptLoss }: VacuumFlags,
): Promise<void> {
  // a backup pins the write-ahead log: rewritten pages would be stored there a second time
  const removal = await lease.remove()
  if (removal === undefined) throw new Error('a backup is running; run vacuum again when it has ended')
  await removal.release()
  const progress = createProgress(io.stderr)
  const rows = createVacuum(data)
  const { versions, tables } = await rows.run(createPause(undefined, SLICE_MS, rest), (done) =>
    progress.show(undefined, `${group(done.versions)} row versions`),
  )
  const tableStore = createTableStore(data)
  const { removed, held } = await sweepFiles({ tables: tableStore, files, lease }, acceptLoss)
  if (compact === true) {
    progress.show(0.9, 'rewriting the database')
    await rows.compact()
  }
  progress.clear()
  if (held > 0)
    io.stderr.write(
      `fieldgate: warning: ${group(held)} files of table columns are named by no row and were kept, because they are most of them: is data.db the one they belong to? --accept-loss removes them\n`,
    )
  const { freeBytes, totalBytes } = await rows.space()
  if (json === true) return printJson(io, { versions, tables, files: removed, held, freeBytes, totalBytes })
  io.stdout.write(
    `Removed ${group(versions)} row versions, ${group(tables)} tables and ${group(removed)} files.\n` +
      `data.db takes ${sizeText(totalBytes)}, of which ${sizeText(freeBytes)} are free for new rows.\n`,
  )
}
