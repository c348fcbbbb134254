import { createReadStream, statSync } from 'node:fs'
import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import { addFile, removeFile } from '../../fleet/hub/files.js'
import { fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, printJson } from '../io.js'
import { withState } from '../keys/with-state.js'
import { sizeText } from '../models/model-data.js'

/** Adds the verbs of files that profiles name. They work beside a running gateway. */
export function addFileVerbs(fleet: Command, io: CliIo, deps: CliDeps): void {
  const file = fleet.command('file').description('files that profiles name: maps, modules and releases')
  file
    .command('add')
    .description('keeps a copy of a file for profiles, and prints its digest')
    .argument('<file>', 'the file')
    .option('--name <name>', 'name for people (default: that of the file)', readName)
    .action(async (source: string, _options, command: Command) =>
      withState<{ name?: string }>(command, deps, async (state, { name, json }, settings) => {
        const from = path.resolve(deps.cwd, source)
        const added = await addFile(settings.openFiles(), name ?? path.basename(from), read(from))
        const { sha256, sizeBytes } = added
        await state.audit.note({ act: 'fleet-file-add', sha256, name: added.name, sizeBytes })
        if (json === true) printJson(io, { sha256, name: added.name, sizeBytes })
        else io.stdout.write(`${sha256}  ${added.name}  ${sizeText(sizeBytes)}\n`)
      }),
    )
  file
    .command('list')
    .description('prints the files that profiles may name')
    .action(async (_options, command: Command) =>
      withState(command, deps, async (_state, { json }, settings) => {
        const offsetMin = parseOffset(settings.config.service.timeZone) ?? 0
        const { files, blobs } = settings.openFiles()
        const rows = await Promise.all(
          (await files.list()).map(async ({ addedAtUs, ...row }) => {
            const isKept = (await blobs.stat(row.sha256))?.sizeBytes === row.sizeBytes
            return { ...row, addedAt: formatDatetimeShort(addedAtUs, offsetMin), isKept }
          }),
        )
        if (json === true) return printJson(io, rows)
        for (const { sha256, name, sizeBytes, isKept } of rows) {
          const fault = isKept ? '' : '  DAMAGED: add it again'
          io.stdout.write(`${sha256}  ${name}  ${sizeText(sizeBytes)}${fault}\n`)
        }
      }),
    )
  file
    .command('remove')
    .description('removes a file that no profile names')
    .argument('<digest>', 'SHA-256 of the file, as `fleet file list` prints it', readDigest)
    .action(async (sha256: string, _options, command: Command) =>
      withState(command, deps, async (state, { json }, settings) => {
        const { name } = await removeFile(settings.openFiles(), sha256)
        await state.audit.note({ act: 'fleet-file-remove', sha256, name })
        if (json === true) printJson(io, { sha256, name, removed: true })
        else io.stdout.write(`${name} (${sha256}) is removed.\n`)
      }),
    )
}

/** @throws Error in one line for a file that cannot be read */
async function* read(file: string): AsyncGenerator<Uint8Array> {
  try {
    if (!statSync(file).isFile()) throw new Error(`${file}: found no regular file, expected one`)
    yield* createReadStream(file, { highWaterMark: 256 * 1024 })
  } catch (error) {
    throw fileFault(error, file)
  }
}

function readName(text: string): string {
  const name = text.trim()
  if (name.length > 0 && name.length <= 200 && !/\p{Cc}/u.test(name)) return name
  throw new InvalidArgumentError('Expected 1 to 200 characters without control characters.')
}

function readDigest(text: string): string {
  if (/^[0-9a-f]{64}$/.test(text)) return text
  throw new InvalidArgumentError('Expected 64 hex digits in lower case.')
}
