import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { buildSync } from 'esbuild'
import t from 'tap'

t.test('assets: beside the bundle, by names that stay inside its folder', async (t) => {
  const dir = t.testdir({
    'outside.txt': 'no',
    dist: {
      'fieldgate.cjs': '',
      console: { 'index.html': 'page', assets: { 'map-1.js': 'code' } },
    },
  })
  buildSync({
    stdin: {
      contents: `import { isSingleExecutable, listAssets, readAsset } from './src/assets.js'
        const read = ['console/index.html', 'console/none', '../outside.txt', 'console/../../outside.txt', '/etc/passwd', '', 'console']
        console.log(JSON.stringify({
          isSingle: isSingleExecutable(),
          listed: listAssets('console/'),
          read: read.map((name) => readAsset(name)?.toString() ?? null),
        }))`,
      resolveDir: process.cwd(),
      loader: 'ts',
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: path.join(dir, 'dist/fieldgate.cjs'),
    allowOverwrite: true,
  })
  const printed = execFileSync(process.execPath, [path.join(dir, 'dist/fieldgate.cjs')], { encoding: 'utf8' })
  t.same(JSON.parse(printed), {
    isSingle: false,
    listed: ['console/assets/map-1.js', 'console/index.html'],
    read: ['page', null, null, null, null, null, null],
  })
})
