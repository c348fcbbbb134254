import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { installModule, moduleStamp, removeModule } from '../../src/dataproc/install.js'
import { makeDataprocLayout } from '../../src/dataproc/layout.js'
import { AppError } from '../../src/errors.js'
import { makeModule } from '../support/dataproc.js'
import { rejectsWith } from '../support/rejects-with.js'

function world(t: Test) {
  const dir = t.testdir({ made: {}, modules: {} })
  const layout = makeDataprocLayout(path.join(dir, 'dataproc'), path.join(dir, 'modules'))
  const made = path.join(dir, 'made')
  const archive = path.join(dir, 'm.tar')
  const tar = (...argv: string[]) => {
    execFileSync('tar', ['-cf', archive, ...argv], { cwd: made })
    return archive
  }
  const install = (file: string, requireSpace = async (_bytes: number) => undefined) =>
    installModule({ layout, requireSpace }, 'm', file)
  const names = () => readdirSync(layout.modulesDir)
  return { dir, layout, made, tar, install, names }
}

t.test(
  'installModule: an archive with a folder, without, and gzip; the former module is replaced',
  async (t) => {
    const { layout, made, tar, install, names } = world(t)
    makeModule(made, 'm', { run: 'echo one' })
    await install(tar('m'))
    const stamp = moduleStamp(layout, 'm')
    const script = path.join(layout.modulesDir, 'm', 'run.sh')
    t.match(readFileSync(script, 'utf8'), /one/)
    t.equal(statSync(script).mode & 0o777, 0o700)
    makeModule(made, 'm', { run: 'echo two', other: 'true' })
    await install(tar('-z', '-C', 'm', '.'))
    t.match(readFileSync(script, 'utf8'), /two/)
    t.not(moduleStamp(layout, 'm'), stamp)
    t.same(names(), ['m'])
    const long = path.join('m', 'deep'.repeat(30), 'in'.repeat(60))
    mkdirSync(path.join(made, long), { recursive: true })
    writeFileSync(path.join(made, long, 'file'), 'long name')
    for (const format of ['gnu', 'pax']) {
      await install(tar(`--format=${format}`, 'm'))
      t.equal(readFileSync(path.join(layout.modulesDir, long, 'file'), 'utf8'), 'long name', format)
    }
    await removeModule(layout, 'm')
    await removeModule(layout, 'm')
    t.same(names(), [])
    t.equal(moduleStamp(layout, 'm'), undefined)
  },
)

t.test('installModule: what is no usable module is refused, and the former one stays', async (t) => {
  const { dir, layout, made, tar, install, names } = world(t)
  makeModule(made, 'm', { run: 'true' })
  await install(tar('m'))
  const stamp = moduleStamp(layout, 'm')
  const definition = path.join(made, 'm', 'definition.json')
  const text = readFileSync(definition, 'utf8')

  writeFileSync(definition, text.replace('"m"', '"other"'))
  await t.rejects(install(tar('m')), /found the name other, expected m/)
  writeFileSync(definition, '{')
  await rejectsWith(t, install(tar('m')), 'BAD_MODULE', { message: /valid JSON/ })
  writeFileSync(definition, text.replace('run.sh', 'gone.sh'))
  await rejectsWith(t, install(tar('m')), 'BAD_MODULE', { message: /gone.sh.*is missing/ })
  writeFileSync(definition, text)
  const full = async () => {
    throw new AppError('DISK_FULL', {})
  }
  await rejectsWith(t, install(tar('m'), full), 'DISK_FULL')
  symlinkSync('/etc/passwd', path.join(made, 'm', 'link'))
  await t.rejects(install(tar('m')), /found the entry m\/link of type "2".*expected files and directories/)

  mkdirSync(path.join(dir, 'out'))
  await t.rejects(install(tar('-P', '../out')), /found the path \.\.\/out\/? in the archive/)
  await t.rejects(install(tar('-P', path.join(dir, 'out'))), /found the path \/.* in the archive/)
  const bytes = readFileSync(tar('--exclude=link', 'm'))
  const broken = (name: string, content: Uint8Array) => {
    writeFileSync(path.join(dir, name), content)
    return path.join(dir, name)
  }
  await t.rejects(install(broken('short', bytes.subarray(0, 600))), /ends on the way/)
  await t.rejects(install(broken('text', Buffer.alloc(1024, 'x'))), /found no tar archive/)
  const damaged = Buffer.from(bytes).fill('X', 0, 1)
  await t.rejects(install(broken('damaged', damaged)), /damaged header/)
  await t.rejects(install(broken('gz', Buffer.from([0x1f, 0x8b, 0, 0]))), /compression|header/)

  t.equal(moduleStamp(layout, 'm'), stamp)
  t.same(names(), ['m'])
})
