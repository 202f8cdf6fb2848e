import { setTimeout as pause } from 'node:timers/promises'
import { BASE, done, ended, ROOT, TAG, type Way, works } from './image.ts'

/** Shut, as SECURITY.md tells. */
const SHUT = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges']

/** Docker and podman take the same words. */
export const docker = (tool: 'docker' | 'podman'): Way => ({
  name: tool,
  whyNot: () => {
    if (!works(tool, 'info')) return 'it does not work here'
    return works(tool, 'image', 'inspect', BASE) || works(tool, 'pull', BASE) ? null : `it cannot get ${BASE}`
  },
  build: async () => {
    const format = tool === 'podman' ? ['--format', 'docker'] : []
    await done(
      tool,
      ['build', ...format, '--build-arg', `BASE=${BASE}`, '-f', 'Containerfile', '-t', TAG, '.'],
      {
        cwd: ROOT,
      },
    )
    const [image] = JSON.parse(await done(tool, ['image', 'inspect', TAG]))
    const healthcheck = image.Config.Healthcheck ?? image.HealthCheck
    return {
      user: image.Config.User,
      healthCheck: healthcheck.Test.slice(1),
      labels: image.Config.Labels,
      run: (args) => ended(tool, ['run', '--rm', ...SHUT, TAG, ...args]),
      start: async () => {
        const id = await done(tool, ['run', '-d', ...SHUT, '-p', '127.0.0.1::8080', TAG])
        const address = (await done(tool, ['port', id, '8080/tcp'])).split('\n')[0]
        const url = `http://${address}`
        while (
          !(await fetch(`${url}/readyz`).then(
            (answer) => answer.ok,
            () => false,
          ))
        )
          await pause(100)
        const { stdout } = await ended(tool, ['logs', id])
        return {
          url,
          portInside: '8080',
          stdout: () => stdout,
          exec: (args, env = {}) =>
            ended(tool, [
              'exec',
              ...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
              id,
              ...args,
            ]),
          stop: async () => {
            await done(tool, ['stop', '--time', '25', id])
            const code = Number(await done(tool, ['inspect', '--format', '{{.State.ExitCode}}', id]))
            await done(tool, ['rm', '--volumes', id])
            return code
          },
        }
      },
      remove: async () => {
        await done(tool, ['image', 'rm', '--force', TAG])
      },
    }
  },
})
