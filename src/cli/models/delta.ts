import { createReadStream, existsSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { digestOf } from '../../files/blob-store.js'
import { readDeltaHead } from '../../models/delta/apply-delta.js'
import { applyDeltaFile, makeDeltaFile } from '../../models/delta/delta-files.js'
import { checkFolder, fileFault } from '../file-fault.js'
import type { CliDeps, CliIo, GlobalOptions } from '../io.js'
import { printJson } from '../io.js'
import { createProgress, type Progress } from '../progress.js'
import { readSettings } from '../settings.js'
import { sizeText } from './model-data.js'

interface OutputFlags extends GlobalOptions {
  output: string
}

/** Adds the verbs of deltas, which carry a new model to where an older one is. They need no data directory. */
export function addDeltaCommands(model: Command, io: CliIo, deps: CliDeps): void {
  const resolve = (name: string) => path.resolve(deps.cwd, name)
  model
    .command('delta')
    .description('writes the differences of a model file to an older one')
    .argument('<base>', 'the older file')
    .argument('<new>', 'the new file')
    .requiredOption('-o, --output <file>', 'delta to write')
    .action(async (base: string, next: string, _options, command: Command) => {
      const { output, json } = command.optsWithGlobals<OutputFlags>()
      const out = outputOf(resolve(output))
      const files = { base: await digested(resolve(base)), next: await digested(resolve(next)), output: out }
      const { sizeBytes } = files.next
      const bytes = await finish(makeDeltaFile(files), () => 0, createProgress(io.stderr))
      const percent = sizeBytes === 0 ? 100 : Math.round((bytes / sizeBytes) * 1000) / 10
      if (json === true)
        printJson(io, { output: out, bytes, new_bytes: sizeBytes, sha256: files.next.sha256 })
      else io.stdout.write(`${sizeText(bytes)}, ${percent} % of ${sizeText(sizeBytes)}\n`)
    })
  model
    .command('patch')
    .description('rebuilds a model file from an older one and a delta')
    .argument('<base>', 'the older file')
    .argument('<delta>', 'file that `fieldgate model delta` wrote')
    .requiredOption('-o, --output <file>', 'file to write')
    .action(async (base: string, delta: string, _options, command: Command) => {
      const { output, json, ...flags } = command.optsWithGlobals<OutputFlags>()
      const out = outputOf(resolve(output))
      const { config } = readSettings(flags, deps)
      const deltaFile = resolve(delta)
      const { result } = await readDeltaHead(createReadStream(deltaFile)).catch((error: unknown) => {
        throw fileFault(error, deltaFile)
      })
      const files = { base: await digested(resolve(base)), delta: deltaFile, output: out }
      const steps = applyDeltaFile({ ...files, maxBytes: config.limits.modelBytes })
      const bytes = await finish(steps, (done) => done / result.sizeBytes, createProgress(io.stderr))
      if (json === true) printJson(io, { output: out, bytes, sha256: result.sha256 })
      else io.stdout.write(`${sizeText(bytes)}, SHA-256 ${result.sha256}\n`)
    })
}

/** @throws Error when the folder is missing, or the file exists: an output is never replaced */
function outputOf(file: string): string {
  checkFolder(file)
  if (existsSync(file)) throw new Error(`--output: ${file} exists: give the name of a new file`)
  return file
}

async function digested(file: string): Promise<{ path: string; sha256: string; sizeBytes: number }> {
  try {
    return { path: file, ...(await digestOf(createReadStream(file))) }
  } catch (error) {
    throw fileFault(error, file)
  }
}

/** @param fractionOf part of the work that the written bytes stand for */
async function finish(
  steps: AsyncGenerator<number>,
  fractionOf: (bytes: number) => number,
  progress: Progress,
): Promise<number> {
  let bytes = 0
  try {
    for await (const written of steps) {
      bytes = written
      progress.show(fractionOf(bytes), sizeText(bytes))
    }
    return bytes
  } finally {
    progress.clear()
  }
}
