// The Node that an executable is made of: exactly the one that package-lock.json pins for the target.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Targets, with the Debian name of each and the programs that may strip it. */
export const TARGETS = {
  'linux-x64': { arch: 'x64', debArch: 'amd64', strips: ['x86_64-linux-gnu-strip', 'strip'] },
  'linux-arm64': { arch: 'arm64', debArch: 'arm64', strips: ['aarch64-linux-gnu-strip', 'strip'] },
}

/** Reads `--target`; the default is this machine. Exits for an unsupported target. */
export function targetOf(argv) {
  const at = argv.indexOf('--target')
  const name = at === -1 ? `linux-${process.arch}` : argv[at + 1]
  if (TARGETS[name] === undefined) {
    const why = /arm(v7l?|hf)?$/.test(name ?? '') ? ' (docs/install.md says what a 32-bit board can do)' : ''
    console.error(
      `build: found the target ${name ?? 'nothing'}, expected ${Object.keys(TARGETS).join(' or ')}${why}`,
    )
    process.exit(2)
  }
  return { name, ...TARGETS[name] }
}

/**
 * @returns path of the target's `node`. Where npm left the package out, because it is for another machine,
 *   the package is fetched into build/ by npm, and its digest compared with the one in package-lock.json
 */
export function baseNode({ name }) {
  const installed = path.join('node_modules', `node-${name}`, 'bin/node')
  if (existsSync(installed)) return installed
  const { version, integrity } = pinned(`node-${name}`)
  const folder = path.resolve('build/base', `node-${name}-${version}`)
  const node = path.join(folder, 'package/bin/node')
  const archive = path.join(folder, `node-${name}-${version}.tgz`)
  if (!existsSync(archive)) {
    mkdirSync(folder, { recursive: true })
    console.log(`fetching node-${name}@${version} by npm pack: npm installs it on its own machines only`)
    execFileSync('npm', ['pack', '--silent', `node-${name}@${version}`, '--pack-destination', folder], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  if (found !== integrity)
    throw new Error(`${archive}: found ${found}, expected ${integrity} of package-lock.json`)
  if (!existsSync(node)) execFileSync('tar', ['-xzf', archive, '-C', folder, 'package/bin/node'])
  return node
}

/**
 * Copies a Node without its symbols (13 to 18 MB). That must come before injection: afterwards it would break
 * the file.
 */
export function strippedCopy(node, { strips, name }, copy) {
  copyFileSync(node, copy)
  chmodSync(copy, 0o755)
  // a `strip` of another machine's kind does not know the format, and changes nothing
  const isStripped = strips.some((program) => spawnSync(program, [copy]).status === 0)
  if (!isStripped)
    console.log(`no strip for ${name} here (Debian: binutils-multiarch): the file will be 15 MB larger`)
}

function pinned(name) {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const entry = lock.packages[`node_modules/${name}`]
  if (entry?.integrity === undefined) throw new Error(`package-lock.json does not pin ${name}`)
  return entry
}
