import { once } from 'node:events'
import { connect } from 'node:net'

/** Sends a message unchanged, and returns everything received until the server closes the connection. */
export const sendRaw = async (url: string, message: string): Promise<string> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  socket.write(message)
  await once(socket, 'close')
  return received
}
