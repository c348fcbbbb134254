import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { messageOf } from '../../errors.js'
import { readPrivateKey, readPublicKey, type SigningKey } from '../../models/signature/keys.js'
import { signModel, verifyModel } from '../../models/signature/sign-model.js'
import { checkFolder, fileFault } from '../file-fault.js'
import type { CliDeps, CliIo, GlobalOptions } from '../io.js'
import { printJson } from '../io.js'

/** Adds the verbs of signatures. They need no data directory. */
export function addSignatureCommands(model: Command, io: CliIo, deps: CliDeps): void {
  model
    .command('sign')
    .description('signs a model, one file or a directory (OpenSSF model signing)')
    .argument('<model>', 'file or directory')
    .requiredOption('--key <file>', 'PEM file of the private key: P-256, P-384 or P-521')
    .option('-o, --output <file>', 'signature file to write (default: the name of the model with .sig)')
    .action(async (name: string, _options, command: Command) => {
      const { key, output } = command.opts<{ key: string; output?: string }>()
      const file = path.resolve(deps.cwd, name)
      const out = output === undefined ? `${file}.sig` : path.resolve(deps.cwd, output)
      checkFolder(out)
      const bundle = await signModel(file, readKey(path.resolve(deps.cwd, key), readPrivateKey), {
        name: path.basename(file),
        ignored: pathsBelow(file, out),
      }).catch((error: unknown) => {
        throw fileFault(error, file)
      })
      writeFileSync(out, bundle, { flag: 'wx' })
      io.stderr.write(`fieldgate: the signature is in ${out}\n`)
    })
  model
    .command('verify')
    .description('verifies the signature of a model, one file or a directory')
    .argument('<model>', 'file or directory')
    .requiredOption('--signature <file>', 'signature file')
    .requiredOption('--key <file>', 'PEM file of the public key')
    .action(async (name: string, _options, command: Command) => {
      const { key, signature, json } = command.optsWithGlobals<
        { key: string; signature: string } & GlobalOptions
      >()
      const file = path.resolve(deps.cwd, name)
      const signatureFile = path.resolve(deps.cwd, signature)
      const publicKey = readKey(path.resolve(deps.cwd, key), readPublicKey)
      const bundle = readText(signatureFile)
      const ignored = pathsBelow(file, signatureFile)
      const fileCount = await verifyModel(file, bundle, publicKey, ignored).catch((error: unknown) => {
        throw fileFault(error, file)
      })
      if (json === true) printJson(io, { signature: 'valid', key: publicKey.hint, files: fileCount })
      else io.stdout.write(`valid: ${fileCount} file${fileCount === 1 ? '' : 's'}, key ${publicKey.hint}\n`)
    })
}

/** Returns the path of a file below a directory, as a list; empty for a file outside. */
function pathsBelow(directory: string, file: string): string[] {
  const relative = path.relative(directory, file)
  const isOutside = relative === '' || relative.startsWith('..') || path.isAbsolute(relative)
  return isOutside ? [] : [relative.split(path.sep).join('/')]
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw fileFault(error, file)
  }
}

function readKey(file: string, read: (pem: string) => SigningKey): SigningKey {
  const pem = readText(file)
  try {
    return read(pem)
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error })
  }
}
