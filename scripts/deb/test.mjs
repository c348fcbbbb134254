// npm run test:deb: builds the package of this machine and a newer one, runs the unit under a separate
// systemd (boot.sh), and test.sh over both packages, as root.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { targetOf } from '../binary/base.mjs'
import { compareSystemCalls } from './syscalls.mjs'

const target = targetOf([])
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const built = path.resolve('build', `fieldgate_${version}_${target.debArch}.deb`)
const newer = path.resolve('build/deb', `newer_${target.debArch}.deb`)
const tree = path.resolve('build/deb/newer')
const run = (program, argv) => execFileSync(program, argv, { stdio: ['ignore', 'ignore', 'inherit'] })

run(process.execPath, ['scripts/deb/main.mjs', '--target', target.name, '--fast'])
rmSync(tree, { recursive: true, force: true })
run('dpkg-deb', ['-R', built, tree])
const control = path.join(tree, 'DEBIAN/control')
writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${version}+next`))
run('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, newer])
const missing = await compareSystemCalls(path.resolve('build', `fieldgate-${version}-${target.name}`))
const calls =
  'the unit allows each system call of a gateway with a module, and modules.conf those of the walls around it'
console.log(missing === null ? `deb-test: ok: ${calls}` : `deb-test: skipped, needs ${missing}: ${calls}`)
execFileSync('sh', ['scripts/deb/boot.sh', built], { stdio: 'inherit' })
execFileSync('sh', ['scripts/deb/test.sh', built, newer], { stdio: 'inherit' })
