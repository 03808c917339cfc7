//! Makes requests about the files of a scene.

use resemble_lab::question::{MethodQuestion, MethodRequest};
use resemble_methods::MethodParams;
use resemble_proto::message::Scope;

use crate::scene::Scene;

/// Makes a question to a published method about the files at or below a path of the scene.
pub(crate) fn method_request(
    scene: &Scene,
    within: &str,
    params: &MethodParams,
    question: MethodQuestion,
) -> MethodRequest {
    MethodRequest {
        params: params.clone(),
        shards: None,
        scope: Scope {
            within: vec![scene.root().join(within).as_path().into()],
            ..Scope::default()
        },
        question,
    }
}
