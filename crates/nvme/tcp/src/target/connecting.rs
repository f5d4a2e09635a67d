//! Handles Connect, by which a connection becomes a queue.

use iolab_nvme_fabrics::{Connect, ConnectRefusal, DataRange, FabricsCommand, Framing};
use iolab_nvme_spec::fabrics::ConnectAnswer;
use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use iolab_virtual_ssd::Answer;

use super::admin_role::AdminRole;
use super::authenticating_role::AuthenticatingRole;
use super::connection::{Connection, End};
use super::controllers::Target;
use super::discovery_role::DiscoveryRole;
use super::io_role::{After, IoRole};
use super::queue::When;
use super::role::Role;
use super::window::{Source, Window};

impl Connection {
    /// Executes the command that makes the connection a queue.
    pub(super) fn connect(&mut self, entry: &SubmissionEntry, range: DataRange, now_ns: u64) -> Result<After, End> {
        let Role::Unconnected(window) = &mut self.role else { return Ok(After::GoOn) };
        if FabricsCommand::of(entry) != Some(FabricsCommand::Connect) {
            let completion = CompletionEntry::new(0, entry.cid(), Status::COMMAND_SEQUENCE_ERROR.with_dnr(true));
            window.framing.response(window.out.bytes(), &completion);
            return Ok(After::GoOn);
        }
        let is_intact = Framing::data_is_intact(&window.inbox.unread()[..range.end()], range);
        window.source = Source::Capsule { offset: range.offset, bytes: range.bytes };
        let connect = match is_intact {
            true => Connect::read(entry, window.brought()),
            false => Err(ConnectRefusal::because(Status::TRANSIENT_TRANSPORT_ERROR)),
        };
        window.source = Source::Nowhere;
        let mut window = std::mem::replace(window, Window::new(0));
        let made = connect.and_then(|connect| {
            let exchange = self.target.examine(&connect)?;
            let (role, controller) = self.make_role(&connect, &mut window)?;
            let (role, answer) = match exchange {
                None => (role, ConnectAnswer(controller.into())),
                Some(exchange) => {
                    let role = Role::Authenticating(Box::new(AuthenticatingRole::new(role, exchange)));
                    (role, ConnectAnswer(controller.into()).with_authentication())
                }
            };
            Ok((role, answer, connect.host))
        });
        match made {
            Ok((role, answer, host)) => {
                (self.role, self.since_ns) = (role, now_ns);
                let peer = self.socket.peer_addr().ok();
                if let Some((window, queue)) = self.role.parts() {
                    queue.tally = Some(self.target.tallies.begin(&host, peer, (answer.controller(), queue.id)));
                    queue.advance();
                    queue.answer(window, entry.cid(), Answer::success(answer.0.into()), When::NOW);
                }
            }
            Err(ConnectRefusal { status, result }) => {
                let completion = CompletionEntry::new(0, entry.cid(), status).with_result(result.into());
                window.framing.response(window.out.bytes(), &completion);
                self.role = Role::Unconnected(window);
            }
        }
        Ok(After::GoOn)
    }

    /// Activates the queue of a host that has authenticated.
    #[inline]
    pub(super) fn end_authentication(&mut self) {
        if let Role::Authenticating(role) = &mut self.role
            && role.has_succeeded()
        {
            self.role = std::mem::replace(&mut role.queue, Role::Ended(Window::new(0)));
        }
    }

    /// The role that a Connect requests, and the identifier of its controller. Takes the window,
    /// unless the Connect is refused.
    fn make_role(&self, connect: &Connect, window: &mut Window) -> Result<(Role, u16), ConnectRefusal> {
        let take = |window: &mut Window| std::mem::replace(window, Window::new(0));
        if connect.queue != 0 {
            let (controller, epoch) = self.target.join(connect)?;
            let id = controller.record.id();
            let role = IoRole::new(&self.target, (controller, epoch), connect, (take(window), self.carried.is_some()));
            return Ok((Role::Io(Box::new(role)), id));
        }
        if Target::is_discovery(connect) {
            let role = DiscoveryRole::new(&self.target, connect, self.at, take(window));
            return Ok((Role::Discovery(Box::new(role)), 1));
        }
        let controller = self.target.attach(connect)?;
        let id = controller.record.id();
        let role = AdminRole::new(&self.target, controller, connect, take(window));
        Ok((Role::Admin(Box::new(role)), id))
    }
}
